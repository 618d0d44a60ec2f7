"""Test with real threads that requests share blocks, that no entry is lost, and that every request ends."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connections

from ledger import group_commit as module
from ledger import log, merkle, sealing
from ledger.audit import verify_log
from ledger.checkpoint import Checkpoint
from ledger.entries import Submission, make_receipt
from ledger.errors import LogUnavailableError
from ledger.group_commit import GroupCommit
from ledger.keys import signer
from ledger.models import Block, Entry
from ledger.proof_file import report_digest
from tests.ledger import foreign

pytestmark = pytest.mark.django_db(databases="__all__")


def submission(name):
    return Submission(report_digest(name), "42", "t")


class SlowSeal:
    """A log without a database, which seals slowly and records the sizes of its blocks."""

    def __init__(self, seconds=0.02):
        self.seconds, self.blocks, self.total = seconds, [], 0
        self.running = threading.Lock()

    def __call__(self, take):
        assert self.running.acquire(blocking=False), "two blocks are sealed at the same time"
        taken = take()
        time.sleep(self.seconds)
        self.blocks.append(len(taken))
        receipts = [
            make_receipt(item, index=self.total + at, block_number=1, timestamp="") for at, item in enumerate(taken)
        ]
        self.total += len(taken)
        self.running.release()
        return receipts


def in_threads(count, work):
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def test_waiting_anchor_requests_share_a_block_with_separate_receipts():
    seal = SlowSeal()
    group = GroupCommit(seal)
    wanted = [submission(str(number)) for number in range(32)]
    receipts = in_threads(32, lambda number: group.anchor([wanted[number]])[0])
    assert [receipt.report_hash for receipt in receipts] == [item.report_hash for item in wanted]
    assert sorted(receipt.index for receipt in receipts) == list(range(32))
    assert len(seal.blocks) < 8
    assert not group.is_busy


def test_block_contains_complete_anchor_requests_up_to_a_maximum_size(monkeypatch):
    monkeypatch.setattr(module, "MAX_BLOCK_ENTRIES", 25)
    seal = SlowSeal()
    group = GroupCommit(seal)
    receipts = in_threads(12, lambda number: group.anchor([submission(f"{number} {at}") for at in range(10)]))
    for request in receipts:
        assert [receipt.index for receipt in request] == list(range(request[0].index, request[0].index + 10))
    assert max(seal.blocks) <= 25
    assert sum(seal.blocks) == 120


def test_failure_of_a_block_fails_only_the_anchor_requests_in_that_block():
    failing = threading.Event()
    seal = SlowSeal()

    def sometimes(take):
        if failing.is_set():
            time.sleep(0.02)
            raise LogUnavailableError
        return seal(take)

    group = GroupCommit(sometimes)
    failing.set()

    def attempt(number):
        with pytest.raises(LogUnavailableError):
            group.anchor([submission(str(number))])

    in_threads(16, attempt)
    failing.clear()
    assert group.anchor([submission("after")])[0].index == 0
    assert not group.is_busy


def test_anchor_request_that_waits_too_long_fails_without_stopping_the_log(monkeypatch):
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.05)
    seal = SlowSeal(0.15)
    group = GroupCommit(seal)
    leader = threading.Thread(target=group.anchor, args=([submission("leader")],))
    leader.start()
    time.sleep(0.02)
    with pytest.raises(LogUnavailableError):
        group.anchor([submission("impatient")])
    leader.join()
    assert group.anchor([submission("next")])
    assert seal.total == 2


def test_reports_anchored_by_16_threads_are_stored_with_proofs(committed_log):
    group = GroupCommit()

    def work(thread):
        try:
            return [group.anchor([submission(f"{thread} {number}")])[0] for number in range(20)]
        finally:
            connections.close_all()

    receipts = [receipt for in_thread in in_threads(16, work) for receipt in in_thread]
    head, vkey = log.read_head(), signer().verifier.vkey
    assert head.tree_size == Entry.objects.count() == 320
    assert sorted(receipt.index for receipt in receipts) == list(range(320))
    assert head.number <= 320
    known = foreign.open_checkpoint(head.checkpoint, vkey)
    assert known.size == 320
    for receipt in receipts:
        path = log.range_roots(merkle.inclusion_ranges(receipt.index, head.tree_size), head)
        assert foreign.accepts_inclusion(receipt.index, 320, receipt.leaf_hash, path, head.root)
        if receipt.index % 40 == 0:
            text = log.prove(receipt.report_hash).file().text()
            assert foreign.accepts_proof_file(text, receipt.leaf_hash, vkey)
    assert verify_log(signer().verifier)[0] == 320


def test_report_anchored_concurrently_by_20_threads_is_stored_only_once(committed_log):
    group = GroupCommit()

    def work(_thread):
        try:
            return group.anchor([submission("the same")])[0]
        finally:
            connections.close_all()

    receipts = in_threads(20, work)
    assert {(receipt.index, receipt.block_number, receipt.nonce) for receipt in receipts} == {(0, 1, receipts[0].nonce)}
    assert sum(not receipt.duplicate for receipt in receipts) == 1
    assert log.read_head().tree_size == 1


def test_two_ledger_processes_sign_a_single_log_history(committed_log, needs_postgresql):
    # Two queues simulate two processes, which share only the database and the guard file.
    groups = [GroupCommit(), GroupCommit()]

    def work(thread):
        try:
            return [groups[thread % 2].anchor([submission(f"{thread} {number}")])[0] for number in range(25)]
        finally:
            connections.close_all()

    in_threads(8, work)
    assert verify_log(signer().verifier)[0] == 200
    blocks = list(Block.objects.order_by("number"))
    for block in blocks:
        assert signer().sign(Checkpoint(signer().name, block.tree_size, bytes(block.root)).text()) == block.checkpoint


def test_anchoring_with_a_failing_database_stores_and_acknowledges_nothing(monkeypatch):
    def broken(*_arguments):
        raise OperationalError("disk full")

    monkeypatch.setattr(sealing, "_append", broken)
    with pytest.raises(LogUnavailableError):
        sealing.seal(lambda: [submission("a")])
    assert not Entry.objects.exists()


def test_sealing_a_block_of_200_entries_executes_at_most_8_sql_statements(django_assert_max_num_queries):
    sealing.seal(lambda: [submission("a")])
    with django_assert_max_num_queries(8):
        sealing.seal(lambda: [submission(str(number)) for number in range(200)])
