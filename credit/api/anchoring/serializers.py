from typing import Any

from config.api.serializers import (
    DateTimeField,
    Int64Field,
    JsonPartSerializer,
    ModelResponseSerializer,
    ResponseSerializer,
    TextField,
)
from credit.api import shapes
from credit.models.anchoring import DecisionAnchor, RecordKey


class SignatureSerializer(JsonPartSerializer):
    """The platform's signature of a record, with a key from `/.well-known/record-keys.json`."""

    key = TextField(help_text="The id of the key.")
    value = TextField(
        help_text="The Ed25519 signature in base64. The signed bytes are three lines: `credit-platform/record/v1`, the "
        "report type, and the record."
    )


class OpeningSerializer(JsonPartSerializer):
    """The opening of a ledger entry's commitment.

    The commitment is the SHA-256 of the nonce and a canonical JSON object. The object has the record's hash (`hash`),
    `report_type`, `timestamp`, and `user_id`.
    """

    nonce = TextField(help_text="The nonce: 16 bytes in hex.")
    user_id = TextField(
        help_text="The `user_id` of the ledger entry: the applicant's account, the account that published a scoring "
        "model's version, or the platform's id for a record key."
    )
    report_type = TextField(help_text="The report type of the ledger entry, such as `application_decision`.")
    timestamp = TextField(help_text="The time of the ledger's block (UTC).")


class AnchorSerializer(ModelResponseSerializer):
    """A record, and its state in the ledger."""

    status = TextField(
        help_text="The state of the record: `anchored`, or `pending` until the ledger has anchored the record."
    )
    record_sha256 = TextField()
    signature = SignatureSerializer(
        source="signature_and_key",
        allow_null=True,
        help_text="The signature of `record`. Null if the record is older than the platform's first record key.",
    )
    proof_file = TextField(
        source="kept_proof_file",
        allow_null=True,
        help_text="The inclusion proof as a file (C2SP tlog-proof) for offline verification. Null until the record is "
        "anchored.",
    )
    opening = OpeningSerializer(
        allow_null=True,
        help_text="The data from which the commitment of the ledger's entry is computed. Null until "
        "the record is anchored.",
    )

    class Meta:
        model = DecisionAnchor
        fields = [
            "status", "record", "record_sha256", "signature", "anchored_at", "block_number", "proof", "proof_file",
            "opening",
        ]  # fmt: skip
        extra_kwargs: dict[str, Any] = {"proof": {"shape": shapes.PROOF}}


class DecisionSerializer(AnchorSerializer):
    """The record of a decision or of its reopening, and its state in the ledger."""

    position = Int64Field(source="history.position", help_text="The number of the status change, from 1.")

    class Meta(AnchorSerializer.Meta):
        fields = [*AnchorSerializer.Meta.fields, "position"]


class DecisionProofSerializer(DecisionSerializer):
    """The newest decision record of an application, all decision records, and all acceptance records."""

    application_id = TextField()
    decisions = DecisionSerializer(
        many=True,
        help_text="The record of each approval, each rejection, and each reopening of a decided application, oldest "
        "first.",
    )
    acceptances = AnchorSerializer(
        many=True, help_text="The record of each acceptance of an approval or a counteroffer, oldest first."
    )

    class Meta(DecisionSerializer.Meta):
        fields = [*DecisionSerializer.Meta.fields, "application_id", "decisions", "acceptances"]


class BundleSerializer(ResponseSerializer):
    """The newest decision record with the inputs of its hashes."""

    record = TextField(help_text="The decision record, as canonical JSON.")
    signature = SignatureSerializer(
        allow_null=True,
        help_text="The signature of `record`. Null if the record is older than the platform's first record key.",
    )
    proof_file = TextField(
        allow_null=True, help_text="The inclusion proof of `record`. Null until the record is anchored."
    )
    opening = OpeningSerializer(
        allow_null=True,
        help_text="The data from which the commitment of the ledger's entry is computed. Null until "
        "`record` is anchored.",
    )
    definition = TextField(allow_null=True, help_text="The scorecard, as canonical JSON. Null without a score.")
    certificate = TextField(
        allow_null=True,
        help_text="The scorecard's certificate, as canonical JSON. Null without a score, and for a scorecard without a "
        "certificate.",
    )
    facts = TextField(
        allow_null=True,
        help_text="The facts of the score, as canonical JSON. Null without a score, and after the erasure of the "
        "facts. Also null in the applicant's bundle if the score used `person.…` facts.",
    )
    nonce = TextField(allow_null=True, help_text="The nonce of the facts' hash, in base64. Null if `facts` is null.")
    facts_opening = TextField(
        allow_null=True,
        help_text="The value and the nonce of each fact in `record`, as canonical JSON. Null without a score, and "
        "after an erasure. Also null for scores that version 1.0 of the platform computed. The applicant's bundle has "
        "no `person.…` facts.",
    )
    openings = TextField(
        allow_null=True,
        help_text="The value and the nonce of each hash in the record's `hashes`, as canonical JSON. Null for records "
        "before version 4, and after an erasure. The applicant's bundle has no `person.score`.",
    )
    applicants = TextField(
        allow_null=True,
        help_text="The applicants, as canonical JSON. Null if there are none, or if they were erased or changed.",
    )
    applicants_nonce = TextField(
        allow_null=True, help_text="The nonce of the applicants' hash, in base64. Null if `applicants` is null."
    )


class RecordKeySerializer(ModelResponseSerializer):
    """A public key and its record.

    The previous key signs the record. If the previous key is lost, an earlier key or the new key signs the record. The
    first key signs its own record.
    """

    valid_until = DateTimeField(
        allow_null=True,
        help_text="The end of the key's period (UTC): the `valid_from` of the next key. Null if there is none.",
    )
    announcement = AnchorSerializer(source="anchor", help_text="The key's record (`record_key`), with its proof.")

    class Meta:
        model = RecordKey
        fields = ["id", "public_key", "valid_from", "valid_until", "announcement"]
        extra_kwargs = {"id": {"source": "key_id"}}


class RecordKeysSerializer(ResponseSerializer):
    """The published keys of the records' signatures."""

    keys = RecordKeySerializer(many=True, help_text="The past, current, and next keys, oldest first.")
