"""Test that the guard file stops signing if the database is older than the last signed head."""

import errno
import json
import os
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from config.ops import checks
from ledger import guard, log
from ledger.errors import ForeignHeadError, GuardDamagedError, GuardMissingError, LogBehindError, LogUnavailableError
from ledger.metrics import measure
from ledger.models import Block, Entry, database
from ledger.proof_file import report_digest
from ledger.status import node_status
from tests.ledger.conftest import OTHER_SIGNING_KEY, assert_error, open_log, seal_reports

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


def restore_older_copy():
    """Delete the last block, like the restoration of an older backup."""
    with open_log() as cursor:
        delete_last_block(cursor)


def delete_last_block(cursor):
    """Delete the last block from a log without triggers."""
    last = Block.objects.order_by("-number")[1]
    cursor.execute('DELETE FROM ledger_entry WHERE "index" >= %s', [last.tree_size])
    cursor.execute("DELETE FROM ledger_block WHERE number > %s", [last.number])
    cursor.execute("DELETE FROM ledger_tile")
    cursor.execute('INSERT INTO ledger_tile (level, "index", hashes) SELECT 0, 0, leaf_hash FROM ledger_entry')


def test_ledger_does_not_sign_a_log_older_than_the_guard_file(client):
    seal_reports(["a"])
    seal_reports(["b"])
    restore_older_copy()
    for attempt in (client.anchor("c"), client.post_json("/anchor/batch", {"items": [
        {"user_id": "1", "report_type": "t", "report_data": "d"}]})):  # fmt: skip
        assert_error(attempt, 503, "E7002")
        assert "Retry-After" in attempt.headers
    assert (Block.objects.count(), Entry.objects.count()) == (1, 1)
    assert client.get("/health").json()["status"] == "degraded"


def test_ledger_does_not_sign_a_log_of_the_same_size_with_another_history():
    seal_reports(["a"])
    assert guard.read() == guard.Mark(1, log.read_head().root)
    with open_log() as cursor:
        cursor.execute("DELETE FROM ledger_entry")
        cursor.execute("DELETE FROM ledger_tile")
        cursor.execute("DELETE FROM ledger_block")
    with pytest.raises(LogBehindError):
        seal_reports(["another"])


def test_ledger_signs_a_log_newer_than_the_guard_file(settings):
    seal_reports(["a"])
    old = settings.LEDGER_GUARD_FILE.read_bytes()
    seal_reports(["b"])
    settings.LEDGER_GUARD_FILE.write_bytes(old)
    seal_reports(["c"])
    assert guard.read() == guard.Mark(3, log.read_head().root)
    guard.advance(guard.Mark(2, b"y" * 32))
    assert guard.read().size == 3, "a smaller size is ignored"
    guard.advance(guard.Mark(4, b"x" * 32))  # This is the guard of another log.
    with pytest.raises(LogBehindError):
        seal_reports(["d"])


def ledger_check():
    """Return the check of the log by `manage.py doctor`."""
    return next(item for item in checks.examine() if item["name"] == "ledger")


def test_doctor_reports_whether_the_log_can_be_signed_and_creates_no_guard_file(settings):
    assert ledger_check()["why"].startswith("empty")
    assert not settings.LEDGER_GUARD_FILE.exists()
    adopt(0, log.Head().root)  # The head of an empty log can be adopted.
    seal_reports(["a"])
    assert ledger_check()["why"] == "may be signed after 1 entries"
    key, settings.LEDGER_SIGNING_KEY = settings.LEDGER_SIGNING_KEY, OTHER_SIGNING_KEY
    assert "restore LEDGER_SIGNING_KEY and LEDGER_ORIGIN" in ledger_check()["why"]
    assert not ledger_check()["ok"]
    settings.LEDGER_SIGNING_KEY = key
    seal_reports(["b"])
    restore_older_copy()
    assert "restore the newest database" in ledger_check()["why"]
    settings.LEDGER_GUARD_FILE.unlink()
    assert "adopt_ledger_head" in ledger_check()["why"]
    assert not settings.LEDGER_GUARD_FILE.exists()
    assert not ledger_check()["ok"]
    settings.LEDGER_SIGNING_KEY, settings.VAR_DIR = "", settings.LEDGER_GUARD_FILE.parent
    assert ledger_check() == {**ledger_check(), "ok": True}, "a machine without the key does not sign"


def test_log_without_its_guard_file_can_be_read_but_not_signed(client, settings):
    client.anchor("a")
    settings.LEDGER_GUARD_FILE.write_bytes(b"")
    for _ in range(2):
        assert_only_readable(client)
        with pytest.raises(GuardMissingError):
            seal_reports(["b"])
        settings.LEDGER_GUARD_FILE.unlink(missing_ok=True)


@pytest.mark.parametrize(
    "change", [{"LEDGER_SIGNING_KEY": OTHER_SIGNING_KEY}, {"LEDGER_ORIGIN": "ledger.example/another"}]
)
def test_log_is_not_signed_with_another_key_or_origin(client, settings, change):
    client.anchor("a")
    old = {name: getattr(settings, name) for name in change}
    for name, value in change.items():
        setattr(settings, name, value)
    assert_only_readable(client)
    with pytest.raises(ForeignHeadError):
        seal_reports(["b"])
    for name, value in old.items():
        setattr(settings, name, value)
    assert client.anchor("b").status_code == 200


def test_log_with_a_changed_root_is_not_signed(client, settings):
    client.anchor("a")
    seal_reports(["b"])
    with open_log() as cursor:
        cursor.execute("UPDATE ledger_block SET root = %s WHERE number = 2", [b"x" * 32])
    settings.LEDGER_GUARD_FILE.write_text('{"size": 2, "root": "' + b"x".hex() * 32 + '"}')
    assert_only_readable(client, blocks=2)


def assert_only_readable(client, blocks=1):
    """Check that the log serves reads, and does not sign."""
    assert_error(client.anchor("another"), 503, "E7002")
    assert Block.objects.count() == blocks
    assert node_status().is_healthy is False
    for path in ("/checkpoint", "/blocks", f"/hash/{report_digest('a').hex()}", f"/proof/{report_digest('a').hex()}"):
        assert client.get(path).status_code == 200


def test_log_can_be_signed_after_a_failed_guard_file_update_of_the_first_block(client, settings, monkeypatch):
    """The guard file exists before the first block is committed, with size 0."""
    with monkeypatch.context() as full_disk:
        full_disk.setattr(os, "pwrite", _full_disk_after(1))
        assert_error(client.anchor("a"), 503, "E7002")
    assert (Block.objects.count(), guard.read()) == (1, guard.Mark(0, log.Head().root))
    assert client.anchor("a").json()["duplicate"] is True
    assert guard.read().size == 1


def test_damaged_or_unwritable_guard_file_stops_signing(client, settings, tmp_path):
    for content in (
        b"x", b"{}", b"[]", b"null", b'{"size": 0, "root": ""}', b'{"size": -1, "root": "' + b"00" * 32 + b'"}',
        b'{"size": "1", "root": "00"}', b'{"size": 1}', b'{"size": 1, "root": 5}', b"\xff\xfe",
        b'{"size": true, "root": "' + b"00" * 32 + b'"}',
    ):  # fmt: skip
        settings.LEDGER_GUARD_FILE.write_bytes(content)
        with pytest.raises(GuardDamagedError):
            guard.read()
        with pytest.raises(LogUnavailableError):
            seal_reports(["a"])
    assert not Block.objects.exists()
    settings.LEDGER_GUARD_FILE = tmp_path  # A folder can't be written.
    assert_error(client.anchor("a"), 503, "E7002")
    settings.LEDGER_GUARD_FILE = tmp_path / "new" / "guard"
    seal_reports(["a"])
    assert guard.read().size == 1, "the folder of the file is created"


def test_block_is_acknowledged_only_after_the_guard_file_is_updated(client, monkeypatch):
    client.anchor("a")
    with monkeypatch.context() as full_disk:
        # The first write is the check before sealing; the update after the commit fails.
        full_disk.setattr(os, "pwrite", _full_disk_after(1))
        assert_error(client.anchor("b"), 503, "E7002")
        full_disk.setattr(os, "pwrite", _full_disk_after(1))
        # The log contains the entry, which is not acknowledged.
        assert_error(client.anchor("b"), 503, "E7002")
    assert (guard.read().size, Block.objects.count()) == (1, 2)
    assert client.anchor("b").json()["duplicate"] is True
    assert guard.read().size == 2


def test_unwritable_guard_file_stops_sealing_and_is_reported_by_health(client, monkeypatch):
    client.anchor("a")
    with monkeypatch.context() as full_disk:
        full_disk.setattr(os, "pwrite", _full_disk_after(0))
        assert_only_readable(client)
        assert next(item.value for item in measured() if item.name == "platform_ledger_may_sign") == 0
    assert client.anchor("b").json()["duplicate"] is False
    assert node_status().is_healthy is True


def test_metric_that_shows_if_the_log_can_be_signed_requires_no_signing_key(settings):
    seal_reports(["a"])
    settings.PRODUCTION, settings.LEDGER_SIGNING_KEY = True, ""
    assert next(item.value for item in measured() if item.name == "platform_ledger_may_sign") == 1
    settings.LEDGER_SIGNING_KEY = OTHER_SIGNING_KEY
    assert next(item.value for item in measured() if item.name == "platform_ledger_may_sign") == 0


def measured():
    return list(measure(using=database().alias, now=timezone.now()))


def _full_disk_after(writes):
    """Return an `os.pwrite` that raises "No space left" after this many writes."""
    left, write = [writes], os.pwrite

    def pwrite(*arguments):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(*arguments)

    return pwrite


@pytest.fixture
def head():
    seal_reports(["a"])
    seal_reports(["b", "c"])
    return log.read_head()


def adopt(size, root):
    out = StringIO()
    call_command("adopt_ledger_head", size=size, root=root.hex(), as_json=True, stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.parametrize("content", [None, b"damaged"])
def test_adopting_the_newest_log_head_replaces_a_missing_or_damaged_guard_file(client, head, settings, content):
    settings.LEDGER_GUARD_FILE.unlink()
    if content is not None:
        settings.LEDGER_GUARD_FILE.write_bytes(content)
    assert_error(client.anchor("d"), 503, "E7002")
    for _ in range(2):
        assert adopt(3, head.root) == {"size": 3, "root": head.root.hex(), "block_number": 2}
        assert guard.read() == guard.Mark(3, head.root)
    assert client.anchor("d").json()["index"] == 3
    assert (guard.read().size, Block.objects.count()) == (4, 3)


def test_only_the_newest_log_head_can_be_adopted(head, settings):
    for size, root in ((2, None), (4, None), (3, b"x" * 32), (-1, None)):
        settings.LEDGER_GUARD_FILE.unlink(missing_ok=True)
        with pytest.raises(CommandError, match=f"--size 3 --root {head.root.hex()}"):
            adopt(size, root or head.root)
        assert not settings.LEDGER_GUARD_FILE.exists()


def test_adopting_an_invalid_log_root_fails(head):
    for root in ("", "zz", "ab" * 31):
        with pytest.raises(CommandError, match="64 hex"):
            call_command("adopt_ledger_head", size=3, root=root)


def test_log_head_older_than_the_guard_file_cannot_be_adopted(head):
    restore_older_copy()
    older = log.read_head()
    with pytest.raises(CommandError, match="restore the newest"):
        adopt(older.tree_size, older.root)
    assert guard.read() == guard.Mark(3, head.root)


@pytest.mark.parametrize("setting", ["LEDGER_SIGNING_KEY", "LEDGER_ORIGIN"])
def test_log_head_of_another_key_or_origin_cannot_be_adopted(client, head, settings, setting):
    settings.LEDGER_GUARD_FILE.unlink()
    setattr(settings, setting, {"LEDGER_SIGNING_KEY": OTHER_SIGNING_KEY, "LEDGER_ORIGIN": "other.example"}[setting])
    with pytest.raises(CommandError, match="begin a new log"):
        adopt(3, head.root)
    assert not settings.LEDGER_GUARD_FILE.exists()
    assert_error(client.anchor("d"), 503, "E7002")
