"""The shapes of the ledger's interface: what is read and what is shown. Hex here, base64 in C2SP files."""

from typing import Any

from rest_framework import serializers

from config.api.fields import FlagField, Int64Field, PageField, QueryInt64Field, StrictListField, TextField
from config.api.serializers import QuerySerializer, RequestSerializer, ResponseSerializer
from config.core.errors import PayloadTooLarge
from ledger.entries import REPORT_DATA_MAX_BYTES, REPORT_TYPE_MAX, USER_ID_MAX, Receipt
from ledger.log import BlockRecord, Proof, Record
from ledger.proofs import Step
from ledger.status import NodeStatus

BATCH_MAX_ITEMS = 1_000
# A report of 10 MiB in which every character is escaped takes six times as much.
BODY_MAX_BYTES = 64 * 1024 * 1024
# Anybody may ask for a check, and reading a body takes several times its size: three times a report is enough, and a
# report that is larger only because of its escapes can be checked by its hash.
VERIFY_BODY_MAX_BYTES = 32 * 1024 * 1024
PROOF_FILE_MAX_CHARACTERS = 65_536


class ReportDataField(TextField):
    """The data to anchor: a string of 1 byte to 10 MiB in UTF-8, kept byte for byte."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_length": 1, "max_length": REPORT_DATA_MAX_BYTES, **options})

    def to_internal_value(self, data: Any) -> str:
        """Return the text; PayloadTooLarge when it is longer than 10 MiB."""
        if isinstance(data, str) and len(data.encode()) > REPORT_DATA_MAX_BYTES:
            raise PayloadTooLarge(f"report_data may have at most {REPORT_DATA_MAX_BYTES} bytes in UTF-8.")
        return super().to_internal_value(data)


class AnchorBody(RequestSerializer):
    """What is to be anchored (specification section 4.3)."""

    user_id = TextField(min_length=1, max_length=USER_ID_MAX)
    report_type = TextField(min_length=1, max_length=REPORT_TYPE_MAX)
    report_data = ReportDataField()


class AnchorItem(AnchorBody):
    """One member of a batch, which JSON may have made anything."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("Must be an object.")
        validated: dict[str, Any] = super().to_internal_value(data)
        return validated


class BatchBody(RequestSerializer):
    """Several reports for one block."""

    items = StrictListField(child=AnchorItem(), min_length=1, max_length=BATCH_MAX_ITEMS)


class VerifyBody(RequestSerializer):
    """A proof file, and the report or its hash."""

    proof = TextField(min_length=1, max_length=PROOF_FILE_MAX_CHARACTERS)
    report_data = ReportDataField(required=False)
    hash = TextField(required=False, max_length=REPORT_TYPE_MAX)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("report_data" in attrs) == ("hash" in attrs):
            raise serializers.ValidationError({"report_data": "Give either report_data or hash."})
        return attrs


class UserHashesQuery(QuerySerializer):
    """A page of a user's hashes."""

    limit = PageField(min_value=1, max_value=1_000, default=100)
    offset = PageField(min_value=0, default=0)


class ProofQuery(QuerySerializer):
    """Which of several entries with one hash."""

    index = QueryInt64Field(min_value=0, required=False)


class ConsistencyQuery(QuerySerializer):
    """Two sizes of the tree, in entries."""

    to = QueryInt64Field(min_value=0)

    def get_fields(self) -> dict[str, Any]:
        return {"from": QueryInt64Field(min_value=0), **super().get_fields()}


class HealthAnswer(ResponseSerializer):
    """Node health (specification section 2.6)."""

    status = TextField()
    block_height = Int64Field()
    is_syncing = FlagField()
    peers = Int64Field()

    @staticmethod
    def shape(node: NodeStatus) -> dict[str, Any]:
        """Show a node's status."""
        return {
            "status": "healthy" if node.is_healthy else "degraded",
            "block_height": node.block_height,
            "is_syncing": node.is_syncing,
            # Witnesses would be its peers; until there are some, it has none.
            "peers": 0,
        }


class StatsAnswer(ResponseSerializer):
    """Statistics (specification section 2.6)."""

    block_height = Int64Field()
    total_hashes = Int64Field()
    is_syncing = FlagField()
    peers = Int64Field()

    @staticmethod
    def shape(node: NodeStatus) -> dict[str, Any]:
        """Show a node's totals."""
        return {
            "block_height": node.block_height,
            "total_hashes": node.tree_size,
            "is_syncing": node.is_syncing,
            "peers": 0,
        }


class HashAnswer(ResponseSerializer):
    """The record of an anchored hash, or `verified` false, the hash and a message."""

    verified = FlagField()
    hash = TextField()
    user_id = TextField(required=False)
    report_type = TextField(required=False)
    block_number = Int64Field(required=False)
    timestamp = TextField(required=False)
    message = TextField(required=False)

    @staticmethod
    def found(record: Record) -> dict[str, Any]:
        """Show the record."""
        return {
            "verified": True,
            "hash": record.hash.hex(),
            "user_id": record.user_id,
            "report_type": record.report_type,
            "block_number": record.block_number,
            "timestamp": record.timestamp,
        }

    @staticmethod
    def absent(report_hash: bytes) -> dict[str, Any]:
        """Show that there is none."""
        return {"verified": False, "hash": report_hash.hex(), "message": "This hash is not anchored here."}


class UserHashAnswer(ResponseSerializer):
    """One hash of a user."""

    hash = TextField()
    report_type = TextField()
    block_number = Int64Field()
    timestamp = TextField()


class UserHashesAnswer(ResponseSerializer):
    """A user's hashes, oldest first; `total` counts all of them."""

    user_id = TextField()
    hashes = UserHashAnswer(many=True)
    total = Int64Field()

    @staticmethod
    def shape(user_id: str, records: list[Record], total: int) -> dict[str, Any]:
        """Show a page."""
        shown = [
            {
                "hash": record.hash.hex(),
                "report_type": record.report_type,
                "block_number": record.block_number,
                "timestamp": record.timestamp,
            }
            for record in records
        ]
        return {"user_id": user_id, "hashes": shown, "total": total}


class AnchorAnswer(ResponseSerializer):
    """Where a report stands in the log; the nonce opens the commitment and is shown only here."""

    success = FlagField()
    hash = TextField()
    block_number = Int64Field()
    extrinsic_hash = TextField()
    index = Int64Field()
    leaf_hash = TextField()
    commitment = TextField()
    nonce = TextField()
    duplicate = FlagField()

    @staticmethod
    def shape(receipt: Receipt) -> dict[str, Any]:
        """Show a receipt."""
        leaf = receipt.leaf_hash.hex()
        return {
            "success": True,
            "hash": receipt.report_hash.hex(),
            "block_number": receipt.block_number,
            "extrinsic_hash": f"0x{leaf}",
            "index": receipt.index,
            "leaf_hash": leaf,
            "commitment": receipt.commitment.hex(),
            "nonce": receipt.nonce.hex(),
            "duplicate": receipt.duplicate,
        }


class BatchAnswer(ResponseSerializer):
    """The block that holds the batch, and a result for each item in order."""

    block_number = Int64Field()
    results = AnchorAnswer(many=True)

    @staticmethod
    def shape(receipts: list[Receipt]) -> dict[str, Any]:
        """Show receipts; items anchored before stand in earlier blocks."""
        return {
            "block_number": max(receipt.block_number for receipt in receipts),
            "results": [AnchorAnswer.shape(receipt) for receipt in receipts],
        }


class ProofAnswer(ResponseSerializer):
    """An inclusion proof against the newest checkpoint."""

    hash = TextField()
    index = Int64Field()
    entry = TextField()
    commitment = TextField()
    leaf_hash = TextField()
    tree_size = Int64Field()
    root = TextField()  # type: ignore[assignment]  # the name is taken by a property of every field
    audit_path = StrictListField(child=TextField())
    checkpoint = TextField()
    block_number = Int64Field()
    timestamp = TextField()

    @staticmethod
    def shape(proof: Proof) -> dict[str, Any]:
        """Show a proof."""
        record, head = proof.record, proof.head
        return {
            "hash": record.hash.hex(),
            "index": record.index,
            "entry": record.entry.hex(),
            "commitment": record.commitment.hex(),
            "leaf_hash": record.leaf_hash.hex(),
            "tree_size": head.tree_size,
            "root": head.root.hex(),
            "audit_path": [digest.hex() for digest in proof.path],
            "checkpoint": head.checkpoint,
            "block_number": record.block_number,
            "timestamp": record.timestamp,
        }


class ConsistencyAnswer(ResponseSerializer):
    """A consistency proof between two sizes."""

    to = Int64Field()
    proof = StrictListField(child=TextField())

    def get_fields(self) -> dict[str, Any]:
        return {"from": Int64Field(), **super().get_fields()}

    @staticmethod
    def shape(old_size: int, new_size: int, proof: list[bytes]) -> dict[str, Any]:
        """Show a proof."""
        return {"from": old_size, "to": new_size, "proof": [digest.hex() for digest in proof]}


class KeyAnswer(ResponseSerializer):
    """The log's name and public key: as a verifier key of signed-note, and as PEM.

    `previous` and `next` are addresses of the logs before and after it, when one had to be ended; else null.
    """

    origin = TextField()
    vkey = TextField()
    pem = TextField()
    previous = TextField(allow_null=True)
    next = TextField(allow_null=True)


class BlockAnswer(ResponseSerializer):
    """One block."""

    number = Int64Field()
    tree_size = Int64Field()
    root = TextField()  # type: ignore[assignment]  # the name is taken by a property of every field
    previous = TextField()
    timestamp = TextField()
    block_hash = TextField()
    checkpoint = TextField()

    @staticmethod
    def shape(block: BlockRecord) -> dict[str, Any]:
        """Show a block."""
        return {
            "number": block.number,
            "tree_size": block.tree_size,
            "root": block.root.hex(),
            "previous": block.previous.hex(),
            "timestamp": block.timestamp,
            "block_hash": block.block_hash.hex(),
            "checkpoint": block.checkpoint,
        }


class BlocksAnswer(ResponseSerializer):
    """A page of blocks, newest first; `total` counts all of them."""

    blocks = BlockAnswer(many=True)
    total = Int64Field()


class StepAnswer(ResponseSerializer):
    """One step of a check."""

    name = TextField()
    ok = FlagField()
    detail = TextField()


class VerdictAnswer(ResponseSerializer):
    """What came of checking a proof file: every step up to the first that failed."""

    verified = FlagField()
    steps = StepAnswer(many=True)

    @staticmethod
    def shape(steps: list[Step]) -> dict[str, Any]:
        """Show the steps and their verdict."""
        shown = [{"name": step.name, "ok": step.ok, "detail": step.detail} for step in steps]
        return {"verified": all(step.ok for step in steps), "steps": shown}
