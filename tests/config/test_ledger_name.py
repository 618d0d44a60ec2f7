"""`make run` names the log of the ledger once: under another name it would refuse to sign."""

import pytest

from config.ops import supervisor


@pytest.mark.parametrize(("has_data", "name"), [(False, "127.0.0.1:9001"), (True, "127.0.0.1:8001")])
def test_make_run_keeps_the_name_of_the_log_on_another_port(monkeypatch, tmp_path, has_data, name):
    monkeypatch.setattr(supervisor, "var_dir", lambda: tmp_path)
    if has_data:  # of a version that always named the log by the default port
        (tmp_path / "platform.sqlite3").touch()
    assert [supervisor._origin_of_log("127.0.0.1", port) for port in (9001, 9005)] == [name, name]
