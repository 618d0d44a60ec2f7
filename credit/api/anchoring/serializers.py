from config.api.serializers import (
    DateTimeField,
    Int64Field,
    JsonPartSerializer,
    ModelResponseSerializer,
    ResponseSerializer,
    TextField,
)
from credit.models.anchoring import DecisionAnchor, RecordKey


class SignatureSerializer(JsonPartSerializer):
    """The platform's signature of a record, with a key of `/.well-known/record-keys.json`."""

    key = TextField(help_text="The id of the key.")
    value = TextField(
        help_text="The Ed25519 signature in base64. It signs three lines: the domain, the report type, and the record."
    )


class OpeningSerializer(JsonPartSerializer):
    """The opening of a leaf's commitment: SHA-256 of the nonce and the canonical JSON of the hash and the rest."""

    nonce = TextField(help_text="16 bytes in hex.")
    user_id = TextField(help_text="The data subject of the record.")
    report_type = TextField()
    timestamp = TextField(help_text="When the ledger wrote the block (UTC).")


class AnchorSerializer(ModelResponseSerializer):
    """A record, and its state in the ledger."""

    status = TextField(help_text="`anchored` or `pending`.")
    record_sha256 = TextField()
    signature = SignatureSerializer(
        source="signature_and_key", allow_null=True, help_text="Null for records older than the first record key."
    )
    proof_file = TextField(
        source="kept_proof_file",
        allow_null=True,
        help_text="The inclusion proof as a file (C2SP tlog-proof), to verify offline; null before it is anchored.",
    )
    opening = OpeningSerializer(
        allow_null=True, help_text="The input of the leaf's commitment; null until the record is anchored."
    )

    class Meta:
        model = DecisionAnchor
        fields = [
            "status", "record", "record_sha256", "signature", "anchored_at", "block_number", "proof", "proof_file",
            "opening",
        ]  # fmt: skip


class DecisionSerializer(AnchorSerializer):
    """A decision, and its state in the ledger."""

    position = Int64Field(source="history.position", help_text="The number of the status change, from 1.")

    class Meta(AnchorSerializer.Meta):
        fields = [*AnchorSerializer.Meta.fields, "position"]


class DecisionProofSerializer(DecisionSerializer):
    """The newest decision of an application, all decisions in order, and all acceptances."""

    application_id = TextField()
    decisions = DecisionSerializer(many=True, help_text="Every decision, in order.")
    acceptances = AnchorSerializer(many=True, help_text="Every acceptance of an approval.")

    class Meta(DecisionSerializer.Meta):
        fields = [*DecisionSerializer.Meta.fields, "application_id", "decisions", "acceptances"]


class BundleSerializer(ResponseSerializer):
    """The newest decision as a file. Each string is byte for byte the hashed one."""

    record = TextField(help_text="The anchored record: canonical JSON.")
    signature = SignatureSerializer(
        allow_null=True, help_text="The signature of `record`; null for records older than the first record key."
    )
    proof_file = TextField(allow_null=True, help_text="The inclusion proof of `record`; null until it is anchored.")
    opening = OpeningSerializer(
        allow_null=True, help_text="The input of the leaf's commitment; null until it is anchored."
    )
    definition = TextField(allow_null=True, help_text="The scorecard, canonical JSON; null if there is no score.")
    certificate = TextField(
        allow_null=True, help_text="The scorecard's certificate, canonical JSON; null for a scorecard without one."
    )
    facts = TextField(allow_null=True, help_text="The input of the score, canonical JSON; null once erased.")
    nonce = TextField(allow_null=True, help_text="The nonce of the facts' hash, in base64.")
    facts_opening = TextField(
        allow_null=True,
        help_text="Value and nonce of each fact in the record, canonical JSON; null once the facts are erased.",
    )
    openings = TextField(
        allow_null=True,
        help_text="Value and nonce of each of the record's `hashes`, canonical JSON; null for records before version "
        "4, and once they are erased. The applicant's bundle has no `person.score`.",
    )
    applicants = TextField(
        allow_null=True,
        help_text="The applicants, canonical JSON; null if none, or if they were erased or changed.",
    )
    applicants_nonce = TextField(allow_null=True, help_text="The nonce of the applicants' hash, in base64.")


class RecordKeySerializer(ModelResponseSerializer):
    """A public key and its record. The previous key signs the record; the first key signs its own."""

    valid_until = DateTimeField(allow_null=True, help_text="When the next key starts to sign (UTC); null for the last.")
    announcement = AnchorSerializer(source="anchor", help_text="The record of the key (`record_key`) in the ledger.")

    class Meta:
        model = RecordKey
        fields = ["id", "public_key", "valid_from", "valid_until", "announcement"]
        extra_kwargs = {"id": {"source": "key_id"}}


class RecordKeysSerializer(ResponseSerializer):
    """Every current and past key that signs records."""

    keys = RecordKeySerializer(many=True, help_text="The keys, oldest first.")
