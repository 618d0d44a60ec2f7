"""Test the canonical JSON, the commitment, and the receipt of an entry."""

from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256

from ledger.entries import Submission, commitment_of, format_timestamp, make_receipt


def test_ledger_commitment_is_the_hash_of_nonce_and_canonical_metadata():
    document = (
        b'{"hash":"' + b"ab" * 32 + b'","report_type":"t","timestamp":"2026-01-31T12:00:00.000000Z","user_id":"42"}'
    )
    commitment = commitment_of(
        bytes(16), report_hash=b"\xab" * 32, report_type="t", timestamp="2026-01-31T12:00:00.000000Z", user_id="42"
    )
    assert commitment == sha256(bytes(16) + document).digest()


def test_ledger_submissions_have_different_nonces_and_their_receipts_contain_the_leaf_hash():
    receipt = make_receipt(Submission(bytes(32), "42", "t"), index=5, block_number=2, timestamp="")
    assert receipt.leaf_hash == sha256(b"\0" + bytes(32) + receipt.commitment).digest()
    assert not receipt.duplicate
    nonces = {Submission(bytes(32), "42", "t").nonce for _ in range(1000)}
    assert len(nonces) == 1000
    assert {len(nonce) for nonce in nonces} == {16}


def test_ledger_timestamps_are_utc_and_sort_as_strings():
    moment = datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2)))
    assert format_timestamp(moment) == "2026-01-31T10:00:00.000000Z"
    assert format_timestamp(datetime(2026, 1, 1, tzinfo=UTC)) < format_timestamp(moment)
