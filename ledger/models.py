"""The log's tables. All signed data is append-only, because database triggers reject changes (`ledger.triggers`).

The triggers permit two changes: an erasure removes the nonce and metadata of an entry, and the last tile of a level
grows at its end.
"""

from typing import ClassVar

from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.functions import Length
from django.db.models.lookups import Exact

from ledger.checkpoint import ED25519_BYTES, WitnessVerifier
from ledger.entries import NONCE_BYTES, REPORT_TYPE_MAX, USER_ID_MAX
from ledger.merkle import HASH_BYTES

TIMESTAMP_LENGTH = 27
# The maximum length of a verifier key, which consists of a name, an ID of 8 digits, and 33 bytes in base64.
VKEY_MAX = 320


def _is_long(column: str, length: int, name: str) -> models.CheckConstraint:
    return models.CheckConstraint(condition=Exact(Length(column), length), name=name)


class Block(models.Model):
    """A sealed batch of entries, with a signed checkpoint and the hash of the previous block."""

    number = models.BigIntegerField(primary_key=True)
    tree_size = models.BigIntegerField(unique=True)
    root = models.BinaryField()
    previous = models.BinaryField()
    # The block hash and the commitments cover this string, so the database must not reformat it.
    timestamp = models.CharField(max_length=TIMESTAMP_LENGTH)
    block_hash = models.BinaryField()
    # This contains the packed `merkle.Frontier` of the tree.
    frontier = models.BinaryField()
    checkpoint = models.TextField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=models.Q(number__gte=1), name="ledger_block_number"),
            models.CheckConstraint(
                condition=models.Q(tree_size__gte=models.F("number")), name="ledger_block_tree_size"
            ),
            _is_long("root", HASH_BYTES, "ledger_block_root"),
            _is_long("previous", HASH_BYTES, "ledger_block_previous"),
            _is_long("block_hash", HASH_BYTES, "ledger_block_block_hash"),
            _is_long("timestamp", TIMESTAMP_LENGTH, "ledger_block_timestamp"),
        ]

    def __str__(self) -> str:
        return f"block {self.number}"


class Entry(models.Model):
    """An anchored report. `hash` and `commitment` are the 64 bytes in the tree. The commitment covers the metadata."""

    index = models.BigIntegerField(primary_key=True)
    leaf_hash = models.BinaryField()
    hash = models.BinaryField()
    commitment = models.BinaryField()
    nonce = models.BinaryField(null=True)
    # Null means that the metadata was erased.
    user_id = models.CharField(max_length=USER_ID_MAX, null=True)  # noqa: DJ001
    report_type = models.CharField(max_length=REPORT_TYPE_MAX, null=True)  # noqa: DJ001
    # A foreign key constraint would lock the block's row for each entry. The triggers prevent deletions, so no
    # constraint is necessary.
    block = models.ForeignKey(
        Block, on_delete=models.PROTECT, db_column="block_number", db_constraint=False, db_index=False, related_name="+"
    )

    class Meta:
        verbose_name_plural = "entries"
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["hash", "index"], name="ledger_entry_by_hash"),
            models.Index(fields=["user_id", "index"], name="ledger_entry_by_user"),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            # A user's report of a type can be anchored only once. The constraint ignores erased entries, whose values
            # are null.
            models.UniqueConstraint(fields=["hash", "user_id", "report_type"], name="ledger_entry_once"),
            models.CheckConstraint(condition=models.Q(index__gte=0), name="ledger_entry_index"),
            _is_long("leaf_hash", HASH_BYTES, "ledger_entry_leaf_hash"),
            _is_long("hash", HASH_BYTES, "ledger_entry_hash"),
            _is_long("commitment", HASH_BYTES, "ledger_entry_commitment"),
            _is_long("nonce", NONCE_BYTES, "ledger_entry_nonce"),
            models.CheckConstraint(
                condition=models.Q(nonce__isnull=True, user_id__isnull=True, report_type__isnull=True)
                | models.Q(nonce__isnull=False, user_id__isnull=False, report_type__isnull=False),
                name="ledger_entry_erased_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"entry {self.index}"


class Tile(models.Model):
    """A tile of up to 256 adjacent hashes of tree level `8 * level` (C2SP tlog-tiles)."""

    pk = models.CompositePrimaryKey("level", "index")
    level = models.SmallIntegerField()
    index = models.BigIntegerField()
    hashes = models.BinaryField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=models.Q(level__gte=0, level__lte=63, index__gte=0), name="ledger_tile_key"
            )
        ]

    def __str__(self) -> str:
        return f"tile {self.level}/{self.index}"


class Cosignature(models.Model):
    """A witness's cosignature of a block's checkpoint. A witness may cosign the same checkpoint again."""

    pk = models.CompositePrimaryKey("block_id", "timestamp", "witness")
    # The foreign key has no constraint, for the same reason as `Entry.block`.
    block = models.ForeignKey(
        Block, on_delete=models.PROTECT, db_column="block_number", db_constraint=False, db_index=False, related_name="+"
    )
    witness = models.CharField(max_length=VKEY_MAX)
    # The witness signed at this time, in seconds since 1970.
    timestamp = models.BigIntegerField()
    signature = models.BinaryField()

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["witness", "timestamp"], name="ledger_cosignature_by_witness")
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=models.Q(timestamp__gte=0), name="ledger_cosignature_timestamp"),
            _is_long("signature", ED25519_BYTES, "ledger_cosignature_signature"),
        ]

    def __str__(self) -> str:
        return f"cosignature of block {self.block_id}"

    def line(self) -> str:
        return WitnessVerifier.from_vkey(self.witness).signature(self.timestamp, bytes(self.signature)).line()


class WitnessOutcome(models.Model):
    """The last outcome of requests to a witness, for metrics. The row is written only after a change."""

    witness = models.CharField(max_length=VKEY_MAX, primary_key=True)
    outcome = models.CharField(max_length=32)
    since = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.witness}: {self.outcome}"


def database() -> BaseDatabaseWrapper:
    return connections[router.db_for_write(Entry)]
