"""Two processes never sign conflicting checkpoints, even if the log's lock has no effect.

The tests disable the lock in PostgreSQL: a schema earlier in the search path defines `pg_advisory_xact_lock` as a
function that does nothing.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from ledger import guard, log, sealing
from ledger.audit import verify_log
from ledger.errors import LogMovedError, LogUnavailableError
from ledger.group_commit import GroupCommit
from ledger.keys import signer
from ledger.models import Block, database
from ledger.proof_file import report_digest
from tests.ledger.conftest import open_log, seal_reports
from tests.ledger.test_group_commit import in_threads, submission
from tests.ledger.test_guard import delete_last_block

pytestmark = [pytest.mark.django_db(databases="__all__", transaction=True), pytest.mark.usefixtures("committed_log")]


@pytest.fixture
def lockless(needs_postgresql):
    """Return a function that disables the lock on the connection of the calling thread, except the main thread."""
    with database().cursor() as cursor:
        cursor.execute("CREATE SCHEMA no_lock")
        cursor.execute(
            "CREATE FUNCTION no_lock.pg_advisory_xact_lock(bigint) RETURNS void LANGUAGE sql AS 'SELECT NULL::void'"
        )

    def disable_lock():
        with database().cursor() as cursor:
            cursor.execute("SET search_path = no_lock, pg_catalog, public")

    yield disable_lock
    with database().cursor() as cursor:
        cursor.execute("DROP SCHEMA no_lock CASCADE")


def run_in_thread(work):
    """Run `work` in a thread with a separate connection; return its result."""

    def run():
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def test_ledger_does_not_extend_a_log_head_that_was_replaced_after_reading(lockless, settings, tmp_path):
    """After a process has read block 2, the database is reset to block 1, and another machine signs another block 2."""
    seal_reports(["a"])
    machine, other_machine = settings.LEDGER_GUARD_FILE, tmp_path / "other"
    other_machine.write_bytes(machine.read_bytes())
    seal_reports(["b"])

    def sign_another_second_block():
        lockless()
        with database().cursor() as cursor:
            delete_last_block(cursor)
        seal_reports(["another b"])

    def take():
        # This process has locked the log and read its head.
        settings.LEDGER_GUARD_FILE = other_machine
        run_in_thread(sign_another_second_block)
        settings.LEDGER_GUARD_FILE = machine
        return [submission("c")]

    with open_log(), pytest.raises(LogMovedError):
        sealing.seal(take)
    assert [block.number for block in Block.objects.order_by("number")] == [1, 2]
    assert log.find_record(report_digest("another b")).index == 1
    assert guard.read().size == 2
    settings.LEDGER_GUARD_FILE = other_machine
    assert verify_log(signer().verifier)[0] == 2


def test_ledger_processes_without_the_lock_acknowledge_a_single_log_history(lockless):
    groups = [GroupCommit(), GroupCommit()]

    def work(thread):
        lockless()
        receipts = []
        try:
            for number in range(25):
                try:
                    receipts += groups[thread % 2].anchor([submission(f"{thread} {number}")])
                except LogUnavailableError:
                    continue
        finally:
            connections.close_all()
        return receipts

    acknowledged = [receipt for receipts in in_threads(8, work) for receipt in receipts]
    assert acknowledged
    assert verify_log(signer().verifier)[0] >= len(acknowledged)
    for receipt in acknowledged:
        assert log.find_record(receipt.report_hash).leaf_hash == receipt.leaf_hash
