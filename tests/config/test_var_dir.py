"""Test that files in VAR_DIR are readable only by their owner."""

import os
from types import SimpleNamespace

import pytest

from config import env as environment
from config.ops import request_counts


def test_an_existing_default_var_dir_becomes_private(tmp_path, monkeypatch):
    ours = tmp_path / "var"
    ours.mkdir()
    ours.chmod(0o755)
    monkeypatch.setattr(environment, "_DEFAULT_VAR_DIR", ours)
    environment.make_var_dir(ours)
    assert ours.stat().st_mode & 0o777 == 0o700


def test_request_counters_create_a_private_var_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("VAR_DIR", str(tmp_path / "var"))
    monkeypatch.setenv(request_counts.FOLDER_VARIABLE, "")
    request_counts.open_folder()
    assert (tmp_path / "var").stat().st_mode & 0o777 == 0o700
    assert [folder.name for folder in (tmp_path / "var/metrics").iterdir()] == [str(os.getpid())]


@pytest.mark.parametrize(("free", "counts"), [(1 << 20, False), (1 << 30, True)])
def test_process_started_on_a_full_disk_does_not_count_requests(tmp_path, monkeypatch, capsys, free, counts):
    monkeypatch.setenv(request_counts.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(request_counts.shutil, "disk_usage", lambda _folder: SimpleNamespace(free=free))
    monkeypatch.setattr(request_counts, "RequestCounts", object)
    (tmp_path / "counter_1.db").write_bytes(b"")
    assert (request_counts.counts_of_process.__wrapped__() is not None) == counts
    assert ("can't count requests: No space left on device" in capsys.readouterr().err) != counts


def test_close_to_others_removes_permissions_of_other_users_without_adding_permissions(tmp_path):
    for mode in [0o444, 0o600]:
        file = tmp_path / "file"
        file.touch()
        file.chmod(mode)
        environment.close_to_others(file)
        assert file.stat().st_mode & 0o777 == mode & 0o700, mode
        environment.close_to_others(tmp_path / "absent")
