"""The shapes of the ledger's interface: what is read and what is shown. Hex here, base64 in C2SP files."""

from collections.abc import Sequence
from typing import Any

from rest_framework.validators import ProhibitSurrogateCharactersValidator

from config.api import serializers
from config.core.errors import PayloadTooLarge
from ledger.entries import REPORT_DATA_MAX_BYTES, REPORT_TYPE_MAX, USER_ID_MAX, has_dot_segment

BATCH_MAX_ITEMS = 1_000
# A report of 10 MiB in which every character is escaped takes six times as much.
BODY_MAX_BYTES = 64 * 1024 * 1024
# Any caller may request a check, and parsing a body takes several times its size. Three times a report is enough. A
# report that is larger only because of its escapes can be checked by its hash.
VERIFY_BODY_MAX_BYTES = 32 * 1024 * 1024
PROOF_FILE_MAX_CHARACTERS = 65_536
_SMALLER_SIZE = "The smaller size of the tree, in entries."


class ReportDataField(serializers.TextField):
    """The data to anchor: a string of 1 byte to 10 MiB in UTF-8, kept byte for byte."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_length": 1, "max_length": REPORT_DATA_MAX_BYTES, **options})
        # It looks at ten million characters one by one, for half a second, for what the parser has refused already.
        self.validators = [
            validator
            for validator in self.validators
            if not isinstance(validator, ProhibitSurrogateCharactersValidator)
        ]

    def to_internal_value(self, data: Any) -> str:
        """Return the text; PayloadTooLarge when it is longer than 10 MiB."""
        if isinstance(data, str) and len(data.encode()) > REPORT_DATA_MAX_BYTES:
            raise PayloadTooLarge(f"report_data may have at most {REPORT_DATA_MAX_BYTES} bytes in UTF-8.")
        return super().to_internal_value(data)


class AnchorRequestSerializer(serializers.RequestSerializer):
    """Entries to anchor (specification section 4.3)."""

    user_id = serializers.TextField(
        min_length=1,
        max_length=USER_ID_MAX,
        help_text="The subject of the report, in your words; only a commitment of it enters the log.",
    )
    report_type = serializers.TextField(min_length=1, max_length=REPORT_TYPE_MAX)
    report_data = ReportDataField()

    def validate_user_id(self, user_id: str) -> str:
        if has_dot_segment(user_id):
            raise serializers.ValidationError("Must not contain a segment `.` or `..`: clients resolve them in paths.")
        return user_id


class AnchorItem(AnchorRequestSerializer):
    """One member of a batch, which JSON may have made anything."""

    default_error_messages = {"invalid": "Must be an object."}


class BatchRequestSerializer(serializers.RequestSerializer):
    """Several reports for one block."""

    items = serializers.ListField(
        child=AnchorItem(), min_length=1, max_length=BATCH_MAX_ITEMS, help_text="The reports; all enter one block."
    )


class VerifyRequestSerializer(serializers.RequestSerializer):
    """A proof file, and the report or its hash."""

    proof = serializers.TextField(
        min_length=1, max_length=PROOF_FILE_MAX_CHARACTERS, help_text="A proof file (C2SP tlog-proof), as text."
    )
    report_data = ReportDataField(required=False, help_text="The report itself; or give its hash.")
    hash = serializers.TextField(
        required=False, max_length=REPORT_TYPE_MAX, help_text="The SHA-256 of the report: 64 hex digits."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("report_data" in attrs) == ("hash" in attrs):
            raise serializers.ValidationError({"report_data": "Give either report_data or hash."})
        return attrs


class UserHashesQuery(serializers.QuerySerializer):
    """A page of a user's hashes."""

    limit = serializers.PageField(min_value=1, max_value=1_000, default=100)
    offset = serializers.PageField(min_value=0, default=0)


class ProofQuery(serializers.QuerySerializer):
    """Which of several entries with one hash, and whether to wait for the witnesses (`1`)."""

    index = serializers.QueryInt64Field(
        min_value=0, required=False, help_text="Which of several entries with this hash; without it, the earliest."
    )
    witnessed = serializers.OneOfField(
        ("0", "1"), default="0", help_text="`1`: wait, up to 20 s, for a checkpoint with the witnesses' quorum."
    )


class ConsistencyQuery(serializers.QuerySerializer):
    """Two sizes of the tree, in entries."""

    to = serializers.QueryInt64Field(min_value=0, help_text="The larger size of the tree, in entries.")

    def get_fields(self) -> dict[str, Any]:
        return {"from": serializers.QueryInt64Field(min_value=0, help_text=_SMALLER_SIZE), **super().get_fields()}


class LogSerializer(serializers.ResponseSerializer):
    """Made from an object of the log; its bytes are shown as hex."""

    @classmethod
    def represent_values(cls, values: Sequence[Any]) -> dict[str, Any]:
        return super().represent_values([value.hex() if isinstance(value, bytes) else value for value in values])


class HealthSerializer(serializers.ResponseSerializer):
    """Node health (specification section 2.6)."""

    status = serializers.TextField(help_text="`healthy`, or `degraded` when the log cannot be read or written.")
    block_height = serializers.Int64Field()
    is_syncing = serializers.FlagField()
    peers = serializers.Int64Field()


class StatsSerializer(serializers.ResponseSerializer):
    """Statistics (specification section 2.6)."""

    block_height = serializers.Int64Field()
    total_hashes = serializers.Int64Field(source="tree_size", help_text="How many entries the log has.")
    is_syncing = serializers.FlagField()
    peers = serializers.Int64Field()


class HashPageSerializer(LogSerializer):
    """The record of an anchored hash, or `verified` false, the hash and a message."""

    verified = serializers.FlagField(help_text="Whether the hash is anchored.")
    hash = serializers.TextField()
    user_id = serializers.TextField(required=False, help_text="The subject of the report.")
    report_type = serializers.TextField(required=False)
    block_number = serializers.Int64Field(required=False, help_text="The block that holds it.")
    timestamp = serializers.TextField(required=False, help_text="When its block was written (UTC).")
    message = serializers.TextField(required=False, help_text="Only where it is not anchored.")


class UserHashSerializer(LogSerializer):
    """One hash of a user."""

    hash = serializers.TextField()
    report_type = serializers.TextField()
    block_number = serializers.Int64Field(help_text="The block that holds it.")
    timestamp = serializers.TextField(help_text="When its block was written (UTC).")


class UserHashesSerializer(serializers.ResponseSerializer):
    """A user's hashes, oldest first; `total` counts all of them."""

    user_id = serializers.TextField(help_text="The subject of the reports.")
    hashes = UserHashSerializer(many=True, help_text="The oldest first.")
    total = serializers.Int64Field()


class AnchorSerializer(LogSerializer):
    """The place of a report in the log; the nonce opens the commitment and is shown only here."""

    success = serializers.FlagField(help_text="True: it is in the log.")
    hash = serializers.TextField(source="report_hash")
    block_number = serializers.Int64Field(help_text="The block that holds it.")
    extrinsic_hash = serializers.TextField(help_text="The leaf hash with 0x before it.")
    index = serializers.Int64Field()
    leaf_hash = serializers.TextField()
    commitment = serializers.TextField()
    nonce = serializers.TextField(help_text="Opens the commitment; keep it, it is shown only here. In hex.")
    duplicate = serializers.FlagField(
        help_text="Whether this user had anchored the same report before; nothing was added then."
    )


class BatchSerializer(serializers.ResponseSerializer):
    """The block that holds the batch, and a result for each item in order."""

    block_number = serializers.Int64Field(help_text="The block that holds them.")
    results = AnchorSerializer(many=True, help_text="One for each item, in order.")


class ProofSerializer(LogSerializer):
    """An inclusion proof against the newest checkpoint."""

    hash = serializers.TextField(source="record.hash")
    index = serializers.Int64Field(source="record.index")
    entry = serializers.TextField(source="record.entry", help_text="The entry in the log, in hex.")
    commitment = serializers.TextField(source="record.commitment")
    leaf_hash = serializers.TextField(source="record.leaf_hash")
    tree_size = serializers.Int64Field(source="head.tree_size")
    root = serializers.TextField(source="head.root")  # type: ignore[assignment]  # the name is taken by a property of every field
    audit_path = serializers.ListField(
        child=serializers.TextField(), help_text="The hashes that lead from the leaf to the root, in hex (RFC 9162)."
    )
    checkpoint = serializers.TextField()
    block_number = serializers.Int64Field(source="record.block_number", help_text="The block that holds it.")
    timestamp = serializers.TextField(source="record.timestamp", help_text="When its block was written (UTC).")


class ConsistencySerializer(serializers.ResponseSerializer):
    """A consistency proof between two sizes."""

    to = serializers.Int64Field(help_text="The larger size of the tree, in entries.")
    proof = serializers.ListField(child=serializers.TextField(), help_text="Hashes in hex, as RFC 9162 has them.")

    def get_fields(self) -> dict[str, Any]:
        smaller = serializers.Int64Field(help_text=_SMALLER_SIZE)
        return {"from": smaller, **super().get_fields()}


class KeySerializer(serializers.ResponseSerializer):
    """The log's name and public key: as a verifier key of signed-note, and as PEM.

    `previous` and `next` are addresses of the logs before and after it, when one had to be ended; else null.
    """

    origin = serializers.TextField(help_text="The log's name, the first line of each checkpoint.")
    vkey = serializers.TextField(help_text="The key as a verifier key of signed notes.")
    pem = serializers.TextField(help_text="The same key as PEM.")
    previous = serializers.TextField(
        allow_null=True, help_text="The address of the log before this one; null where there is none."
    )
    next = serializers.TextField(
        allow_null=True, help_text="The address of the log after this one; null where there is none."
    )


class BlockSerializer(LogSerializer):
    """One block."""

    number = serializers.Int64Field()
    tree_size = serializers.Int64Field(help_text="How many entries the tree had with it.")
    root = serializers.TextField(help_text="The root hash of the tree with it, in hex.")  # type: ignore[assignment]  # the name is taken by a property of every field
    previous = serializers.TextField(help_text="The hash of the block before it, in hex; zeros for the first.")
    timestamp = serializers.TextField(help_text="When it was written (UTC).")
    block_hash = serializers.TextField(help_text="The SHA-256 of the block's canonical JSON, in hex.")
    checkpoint = serializers.TextField()


class BlocksPageSerializer(serializers.ResponseSerializer):
    """A page of blocks, newest first; `total` counts all of them."""

    blocks = BlockSerializer(many=True, help_text="The newest first.")
    total = serializers.Int64Field()


class StepSerializer(serializers.ResponseSerializer):
    """One step of a check."""

    name = serializers.TextField(help_text="What was checked.")
    ok = serializers.FlagField(help_text="Whether it held.")
    detail = serializers.TextField(help_text="The result, for people to read.")


class VerdictSerializer(serializers.ResponseSerializer):
    """The result of checking a proof file: every step up to the first that failed."""

    verified = serializers.FlagField(help_text="Whether every step held.")
    steps = StepSerializer(many=True, help_text="In order, up to the first that failed.")
