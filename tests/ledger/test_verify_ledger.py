"""Test that `manage.py verify_ledger` accepts an intact log, and reports a changed byte in any column."""

import json
from io import StringIO
from itertools import product

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from ledger import guard
from ledger.audit import verify_log
from ledger.checkpoint import ed25519_of
from ledger.keys import signer
from ledger.models import Block, Cosignature, Entry, Tile, database
from tests.ledger.conftest import OTHER_SIGNING_KEY, open_log, seal_reports
from tests.ledger.witnesses import cosigner

pytestmark = pytest.mark.django_db(databases="__all__")

BYTES_AND_TEXTS = {"BinaryField", "CharField", "TextField"}
KEYS = {
    "ledger_block": ["number"], "ledger_entry": ["index"], "ledger_tile": ["level", "index"],
    "ledger_cosignature": ["block_number", "timestamp", "witness"],
}  # fmt: skip


@pytest.fixture
def small_log():
    seal_reports([f"report {number}" for number in range(260)])
    seal_reports(["one", "two", "three"], user="7")
    seal_reports(["and two", "more"])
    for block in Block.objects.filter(number__gte=2):
        text = block.checkpoint.partition("\n\n")[0] + "\n"
        for number in (1, 2):
            at = 1_700_000_000 + block.number
            signature = ed25519_of(cosigner(number).cosign(text, at))
            vkey = cosigner(number).verifier.vkey
            Cosignature.objects.create(block=block, witness=vkey, timestamp=at, signature=signature)


def verify() -> dict:
    out = StringIO()
    call_command("verify_ledger", "--json", stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


def first_fault() -> str:
    with pytest.raises(CommandError) as caught:
        verify()
    assert caught.value.returncode == 1
    return str(caught.value)


def test_empty_log_passes_ledger_verification():
    assert verify() == {"entries": 0, "blocks": 0, "ok": True}


def test_intact_log_passes_ledger_verification_before_and_after_an_erasure(small_log):
    assert verify() == {"entries": 265, "blocks": 3, "ok": True}
    seen = []
    verify_log(signer().verifier, progress=seen.append)
    assert sum(seen) == 265
    call_command("erase_subject", "42", stdout=StringIO())
    assert verify() == {"entries": 265, "blocks": 3, "ok": True}


def flipped(value, kind, at):
    """Return the value with one bit of one byte changed."""
    if isinstance(value, int):
        return value ^ 1
    if kind == "BinaryField":
        raw = bytearray(bytes(value))
        raw[at % len(raw)] ^= 1
        return bytes(raw)
    position = at % len(value)
    return value[:position] + chr(ord(value[position]) ^ 1) + value[position + 1 :]


@pytest.mark.parametrize("model", [Block, Entry, Tile, Cosignature])
def test_ledger_verification_reports_a_changed_byte_in_any_column(small_log, model):
    table = model._meta.db_table
    for field in model._meta.concrete_fields:
        column, kind = field.column, field.get_internal_type()
        for which, at in product(("first", "last"), (0, 13, -1) if kind in BYTES_AND_TEXTS else (0,)):
            with transaction.atomic(using=database().alias):
                change_a_byte(table, column, kind, which, at)
                fault = first_fault()
                transaction.set_rollback(True, using=database().alias)
            tables = {table, "ledger_entry", "ledger_block"} if column in {*KEYS[table], "tree_size"} else {table}
            if column == "timestamp" and table == "ledger_block":
                # The entries' commitments include the block's time, and entries are checked first.
                tables = {"ledger_block", "ledger_entry"}
            assert any(name in fault for name in tables), fault
            if column not in {*KEYS[table], "tree_size", "timestamp"} or table == "ledger_cosignature":
                assert column in fault, fault


def change_a_byte(table, column, kind, which, at):
    """Change one byte of a column in the first or the last row."""
    keys = KEYS[table]
    order = ", ".join(f'"{key}" {"ASC" if which == "first" else "DESC"}' for key in keys)
    with open_log() as cursor:
        names = ", ".join(f'"{key}"' for key in keys)
        cursor.execute(f'SELECT {names}, "{column}" FROM {table} ORDER BY {order} LIMIT 1')
        *key, value = cursor.fetchone()
        same_row = " AND ".join(f'"{name}" = %s' for name in keys)
        # A key is changed to an unused number: keys are unique.
        free = {"index": 1000, "number": 100, "level": 7}
        new = value + free[column] if column in keys and column in free else flipped(value, kind, at)
        cursor.execute(f'UPDATE {table} SET "{column}" = %s WHERE {same_row}', [new, *key])


def test_ledger_verification_reports_a_missing_row_of_the_log(small_log):
    for table, order in product(("ledger_block", "ledger_entry", "ledger_tile"), ("ASC", "DESC")):
        key = "number" if table == "ledger_block" else '"index"'
        newest = f"SELECT {key} FROM {table} ORDER BY {key} {order} LIMIT 1"
        with transaction.atomic(using=database().alias):
            with open_log() as cursor:
                cursor.execute(f"DELETE FROM {table} WHERE {key} = ({newest})")
            assert "First fault: ledger_" in first_fault()
            transaction.set_rollback(True, using=database().alias)


def test_ledger_verification_reports_an_additional_entry_or_tile(small_log):
    Entry.objects.create(index=265, leaf_hash=b"x" * 32, hash=b"x" * 32, commitment=b"x" * 32, block_id=3)
    assert "ledger_entry 265: stands in no block" in first_fault()
    Tile.objects.create(level=2, index=0, hashes=b"x" * 32)
    with open_log() as cursor:
        cursor.execute('DELETE FROM ledger_entry WHERE "index" = 265')
    assert "ledger_tile" in first_fault()


def test_ledger_verification_reports_a_guard_file_with_a_larger_size_or_another_root(small_log, settings):
    settings.LEDGER_GUARD_FILE.unlink()
    for size in (265, 266):
        guard.advance(guard.Mark(size, b"x" * 32))
        assert "guard file" in first_fault()


def test_ledger_verification_reports_a_log_signed_by_another_key(small_log, settings):
    settings.LEDGER_SIGNING_KEY = OTHER_SIGNING_KEY
    assert "ledger_block 1 checkpoint" in first_fault()


@pytest.mark.parametrize("column", ["user_id", "hash", "nonce", "block_number"])
def test_ledger_verification_reports_a_value_of_another_type(small_log, column):
    if database().vendor != "sqlite":
        pytest.skip("only SQLite stores any type in any column")
    with open_log() as cursor:
        cursor.execute("PRAGMA ignore_check_constraints = ON")
        cursor.execute(f'UPDATE ledger_entry SET "{column}" = x\'ff00fe\' WHERE "index" = 5')
        cursor.execute("PRAGMA ignore_check_constraints = OFF")
    assert "ledger_entry 5" in first_fault()
