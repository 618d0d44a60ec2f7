"""The guard file: a database older than what was signed is never signed from."""

import errno
import os

import pytest

from ledger import guard, log
from ledger.errors import LogUnavailableError
from ledger.models import Block, Entry
from ledger.sealing import LogBehindError
from tests.ledger.conftest import assert_error, open_log, seal_reports

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


def put_an_older_copy_back():
    """What a restored backup looks like: everything of the last block is gone."""
    last = Block.objects.order_by("-number")[1]
    with open_log() as cursor:
        cursor.execute('DELETE FROM ledger_entry WHERE "index" >= %s', [last.tree_size])
        cursor.execute("DELETE FROM ledger_block WHERE number > %s", [last.number])
        cursor.execute("DELETE FROM ledger_tile")
        cursor.execute('INSERT INTO ledger_tile (level, "index", hashes) SELECT 0, 0, leaf_hash FROM ledger_entry')


def test_the_guard_remembers_the_last_head():
    seal_reports(["a", "b"])
    head = log.read_head()
    assert guard.read() == guard.Mark(2, head.root)


def test_an_older_database_refuses_to_sign(client):
    seal_reports(["a"])
    seal_reports(["b"])
    put_an_older_copy_back()
    for attempt in (client.anchor("c"), client.post_json("/anchor/batch", {"items": [
        {"user_id": "1", "report_type": "t", "report_data": "d"}]})):  # fmt: skip
        assert_error(attempt, 503, "E7002")
        assert "Retry-After" in attempt.headers
    assert (Block.objects.count(), Entry.objects.count()) == (1, 1)
    assert client.get("/health").json()["status"] == "degraded"


def test_another_history_of_the_same_size_refuses_to_sign():
    seal_reports(["a"])
    guard_file = guard.read()
    assert guard_file is not None
    with open_log() as cursor:
        cursor.execute("DELETE FROM ledger_entry")
        cursor.execute("DELETE FROM ledger_tile")
        cursor.execute("DELETE FROM ledger_block")
    with pytest.raises(LogBehindError):
        seal_reports(["another"])


def test_a_guard_that_is_behind_a_commit_is_no_obstacle(settings):
    seal_reports(["a"])
    old = settings.LEDGER_GUARD_FILE.read_bytes()
    seal_reports(["b"])
    settings.LEDGER_GUARD_FILE.write_bytes(old)
    seal_reports(["c"])
    assert guard.read().size == 3


def test_a_guard_of_another_log_refuses_to_sign():
    seal_reports(["a", "b"])
    seal_reports(["c"])
    guard.advance(guard.Mark(4, b"x" * 32))
    with pytest.raises(LogBehindError):
        seal_reports(["d"])


def test_a_lost_guard_is_written_anew(settings):
    seal_reports(["a"])
    settings.LEDGER_GUARD_FILE.unlink()
    seal_reports(["b"])
    assert guard.read().size == 2


def test_the_guard_never_goes_backwards():
    guard.advance(guard.Mark(5, b"x" * 32))
    guard.advance(guard.Mark(4, b"y" * 32))
    assert guard.read() == guard.Mark(5, b"x" * 32)


@pytest.mark.parametrize(
    "content",
    [b"x", b"{}", b"[]", b"null", b'{"size": 0, "root": ""}', b'{"size": "1", "root": "00"}', b'{"size": 1}',
     b'{"size": 1, "root": 5}', b"\xff\xfe", b'{"size": true, "root": "' + b"00" * 32 + b'"}'],
)  # fmt: skip
def test_a_damaged_guard_refuses_to_sign(settings, content):
    settings.LEDGER_GUARD_FILE.write_bytes(content)
    with pytest.raises(guard.GuardDamagedError):
        guard.read()
    with pytest.raises(LogUnavailableError):
        seal_reports(["a"])
    assert not Block.objects.exists()


def test_a_guard_that_cannot_be_written_is_no_acknowledgement(settings, tmp_path, client):
    settings.LEDGER_GUARD_FILE = tmp_path
    assert_error(client.anchor("a"), 503, "E7002")


def test_its_folder_is_made_when_it_is_missing(settings, tmp_path):
    settings.LEDGER_GUARD_FILE = tmp_path / "new" / "guard"
    seal_reports(["a"])
    assert guard.read().size == 1


def test_a_block_that_the_guard_did_not_hear_of_is_acknowledged_only_once_it_has(settings, client, monkeypatch):
    client.anchor("a")
    with monkeypatch.context() as full_disk:
        full_disk.setattr(os, "pwrite", _full_disk)
        assert_error(client.anchor("b"), 503, "E7002")
        # It stands in the log by now; that is no reason to acknowledge it.
        assert_error(client.anchor("b"), 503, "E7002")
    assert guard.read().size == 1
    assert client.anchor("b").json()["duplicate"] is True
    assert guard.read().size == 2


def _full_disk(*_arguments):
    raise OSError(errno.ENOSPC, "No space left on device")
