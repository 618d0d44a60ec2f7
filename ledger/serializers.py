"""The request and response bodies of the ledger's API. Binary values are hex in bodies, and base64 in C2SP files."""

from collections.abc import Sequence
from typing import Any

from rest_framework.validators import ProhibitSurrogateCharactersValidator

from config.api import serializers
from config.core.errors import PayloadTooLarge
from ledger.entries import REPORT_DATA_MAX_BYTES, REPORT_TYPE_MAX, USER_ID_MAX, has_dot_segment

# Escapes can multiply the maximum report of 10 MiB by six.
BODY_MAX_BYTES = 64 * 1024 * 1024
# Parsing needs a multiple of the body's size in memory, and callers need no credential. So the limit is only three
# times the maximum report. Callers can send the hash of a larger report.
VERIFY_BODY_MAX_BYTES = 32 * 1024 * 1024


class ReportDataField(serializers.TextField):
    """The data to anchor: a string of 1 byte to 10 MiB in UTF-8, kept byte for byte."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_length": 1, "max_length": REPORT_DATA_MAX_BYTES, **options})
        # The parser has already rejected surrogates, and this validator needs 0.5 s for ten million characters.
        self.validators = [
            validator
            for validator in self.validators
            if not isinstance(validator, ProhibitSurrogateCharactersValidator)
        ]

    def to_internal_value(self, data: Any) -> str:
        """Return the string. Raises PayloadTooLarge if the string is longer than 10 MiB in UTF-8."""
        if isinstance(data, str) and len(data.encode()) > REPORT_DATA_MAX_BYTES:
            raise PayloadTooLarge(f"report_data may have at most {REPORT_DATA_MAX_BYTES} bytes in UTF-8.")
        return super().to_internal_value(data)


class AnchorRequestSerializer(serializers.RequestSerializer):
    """A report to anchor."""

    user_id = serializers.TextField(
        min_length=1,
        max_length=USER_ID_MAX,
        help_text="Your id of the report's subject. The tree has only a commitment to the id, but "
        "`GET /hash/{report_hash}` returns the id to each caller who has the hash.",
    )
    report_type = serializers.TextField(min_length=1, max_length=REPORT_TYPE_MAX)
    report_data = ReportDataField()

    def validate_user_id(self, user_id: str) -> str:
        if has_dot_segment(user_id):
            raise serializers.ValidationError("Must not contain a segment `.` or `..`: clients resolve them in paths.")
        return user_id


class AnchorItem(AnchorRequestSerializer):
    """One report of a batch."""

    default_error_messages = {"invalid": "Must be an object."}


class BatchRequestSerializer(serializers.RequestSerializer):
    """Reports to anchor in one block."""

    items = serializers.ListField(
        child=AnchorItem(),
        min_length=1,
        max_length=1_000,
        help_text="The reports. All new reports enter one block.",
    )


class VerifyRequestSerializer(serializers.RequestSerializer):
    """A proof file, and the report or its hash."""

    proof = serializers.TextField(
        min_length=1, max_length=65_536, help_text="A proof file (C2SP tlog-proof), as a string."
    )
    report_data = ReportDataField(required=False, help_text="The report. Send the report or `hash`, but not both.")
    hash = serializers.TextField(
        required=False, max_length=REPORT_TYPE_MAX, help_text="The SHA-256 of the report: 64 hex digits."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("report_data" in attrs) == ("hash" in attrs):
            raise serializers.ValidationError({"report_data": "Send `report_data` or `hash`, but not both."})
        return attrs


class UserHashesQuery(serializers.QuerySerializer):
    """A page of a user's hashes."""

    refuses_unknown = True

    limit = serializers.PageField(min_value=1, max_value=1_000, default=100)
    offset = serializers.PageField(min_value=0, default=0)


class ProofQuery(serializers.QuerySerializer):
    """Selects an entry among several entries with the same hash, and sets whether to wait for the witnesses (`1`)."""

    index = serializers.QueryInt64Field(
        min_value=0,
        required=False,
        help_text="The index of the entry, if several have this hash. Default: the earliest.",
    )
    witnessed = serializers.OneOfField(
        ("0", "1"), default="0", help_text="`1`: wait up to 20 s for a checkpoint with the quorum of the witnesses."
    )


class ConsistencyQuery(serializers.QuerySerializer):
    """Two sizes of the tree, in entries."""

    from_ = serializers.QueryInt64Field(min_value=0, help_text="The smaller size of the tree, in entries.")
    to = serializers.QueryInt64Field(min_value=0, help_text="The larger size of the tree, in entries.")


class LogSerializer(serializers.ResponseSerializer):
    """Serializes an object of the log, with bytes as hex."""

    @classmethod
    def represent_values(cls, values: Sequence[Any]) -> dict[str, Any]:
        return super().represent_values([value.hex() if isinstance(value, bytes) else value for value in values])


class HealthSerializer(serializers.ResponseSerializer):
    """The health of the node."""

    status = serializers.TextField(help_text="`healthy`, or `degraded` if the log can't be read or can't sign.")
    block_height = serializers.Int64Field()
    is_syncing = serializers.FlagField()
    peers = serializers.Int64Field()


class StatsSerializer(serializers.ResponseSerializer):
    """The statistics of the log."""

    block_height = serializers.Int64Field()
    total_hashes = serializers.Int64Field(source="tree_size", help_text="The number of entries in the log.")
    is_syncing = serializers.FlagField()
    peers = serializers.Int64Field()


class HashPageSerializer(LogSerializer):
    """The record of an anchored hash.

    For an absent hash, the response has `verified` false, the hash, and a message.
    """

    verified = serializers.FlagField(help_text="Whether the hash is anchored.")
    hash = serializers.TextField()
    user_id = serializers.TextField(
        required=False, help_text="The subject of the report. `erased` after the subject's erasure."
    )
    report_type = serializers.TextField(
        required=False,
        help_text="The type of the report, chosen by its submitter. `erased` after the subject's erasure.",
    )
    block_number = serializers.Int64Field(required=False, help_text="The number of the report's block.")
    timestamp = serializers.TextField(required=False, help_text="When the ledger wrote the block (UTC).")
    message = serializers.TextField(required=False, help_text="The explanation; only if the hash is not anchored.")


class UserHashSerializer(LogSerializer):
    """A hash of a user."""

    hash = serializers.TextField()
    report_type = serializers.TextField()
    block_number = serializers.Int64Field(help_text="The number of the report's block.")
    timestamp = serializers.TextField(help_text="When the ledger wrote the block (UTC).")


class UserHashesSerializer(serializers.ResponseSerializer):
    """A user's hashes, oldest first."""

    user_id = serializers.TextField(help_text="The subject of the reports.")
    hashes = UserHashSerializer(many=True, help_text="The hashes, oldest first.")
    total = serializers.Int64Field()


class AnchorSerializer(LogSerializer):
    """The place of a report in the log, and the nonce that opens its commitment."""

    success = serializers.FlagField(help_text="Always true: the report is in the log.")
    hash = serializers.TextField(source="report_hash")
    block_number = serializers.Int64Field(help_text="The number of the report's block.")
    extrinsic_hash = serializers.TextField(help_text="The leaf hash with the prefix 0x.")
    index = serializers.Int64Field()
    leaf_hash = serializers.TextField()
    commitment = serializers.TextField()
    nonce = serializers.TextField(
        help_text="The nonce that opens the commitment, in hex. Store it: proofs do not contain it."
    )
    duplicate = serializers.FlagField(
        help_text="Whether the same report of this type and user was already anchored. The ledger then added no entry."
    )


class BatchSerializer(serializers.ResponseSerializer):
    """The newest block of the batch, and a result for each item in order."""

    block_number = serializers.Int64Field(
        help_text="The number of the newest block of the reports. Reports that were already anchored can be in earlier "
        "blocks."
    )
    results = AnchorSerializer(many=True, help_text="The results, one for each item in order.")


class ProofSerializer(LogSerializer):
    """An inclusion proof against the newest checkpoint, or against the newest checkpoint that has the quorum."""

    hash = serializers.TextField(source="record.hash")
    index = serializers.Int64Field(source="record.index")
    entry = serializers.TextField(source="record.entry", help_text="The entry in the log, in hex.")
    commitment = serializers.TextField(source="record.commitment")
    leaf_hash = serializers.TextField(source="record.leaf_hash")
    tree_size = serializers.Int64Field(source="head.tree_size")
    root = serializers.TextField(source="head.root")  # type: ignore[assignment]  # the name is taken by a property of every field
    audit_path = serializers.ListField(
        child=serializers.TextField(), help_text="The hashes from the leaf to the root, in hex (RFC 9162)."
    )
    checkpoint = serializers.TextField()
    block_number = serializers.Int64Field(source="record.block_number", help_text="The number of the report's block.")
    timestamp = serializers.TextField(source="record.timestamp", help_text="When the ledger wrote the block (UTC).")


class ConsistencySerializer(serializers.ResponseSerializer):
    """A consistency proof between two sizes."""

    from_ = serializers.Int64Field(help_text="The smaller size of the tree, in entries.")
    to = serializers.Int64Field(help_text="The larger size of the tree, in entries.")
    proof = serializers.ListField(
        child=serializers.TextField(), help_text="The hashes of the proof by RFC 9162, in hex."
    )


class KeySerializer(serializers.ResponseSerializer):
    """The log's name and public key.

    `previous` and `next` are the URLs of the previous and the next log. These URLs are null unless a log was replaced.
    """

    origin = serializers.TextField(help_text="The log's name, the first line of each checkpoint.")
    vkey = serializers.TextField(help_text="The key as a verifier key of signed notes.")
    pem = serializers.TextField(help_text="The same key as PEM.")
    previous = serializers.TextField(allow_null=True, help_text="The URL of the previous log. Null if there is none.")
    next = serializers.TextField(allow_null=True, help_text="The URL of the next log. Null if there is none.")


class BlockSerializer(LogSerializer):
    """A block."""

    number = serializers.Int64Field()
    tree_size = serializers.Int64Field(help_text="The number of entries in the tree, including this block.")
    root = serializers.TextField(help_text="The root hash of the tree, including this block, in hex.")  # type: ignore[assignment]  # the name is taken by a property of every field
    previous = serializers.TextField(help_text="The hash of the previous block, in hex; zeros for the first.")
    timestamp = serializers.TextField(help_text="When the block was written (UTC).")
    block_hash = serializers.TextField(help_text="The SHA-256 of the block's canonical JSON, in hex.")
    checkpoint = serializers.TextField()


class BlocksPageSerializer(serializers.ResponseSerializer):
    """A page of blocks, newest first."""

    blocks = BlockSerializer(many=True, help_text="The blocks, newest first.")
    total = serializers.Int64Field()


class StepSerializer(serializers.ResponseSerializer):
    """One step of a check."""

    name = serializers.TextField(help_text="The name of the check.")
    ok = serializers.FlagField(help_text="Whether the check passed.")
    detail = serializers.TextField(help_text="The human-readable result.")


class VerdictSerializer(serializers.ResponseSerializer):
    """The result of a verification: every step up to the first that failed."""

    verified = serializers.FlagField(help_text="Whether every check passed.")
    steps = StepSerializer(many=True, help_text="The steps in order, up to the first that failed.")
