from config.api.serializers import (
    DateTimeField,
    FreeField,
    Int64Field,
    JsonPartSerializer,
    ResponseSerializer,
    TextField,
)


class SignatureSerializer(JsonPartSerializer):
    """Service A's signature of a record, by a key of `/.well-known/record-keys.json`."""

    key = TextField(help_text="The id of the key.")
    value = TextField(help_text="Ed25519, in base64, of the domain, the report type and the record, a line each.")


class OpeningSerializer(JsonPartSerializer):
    """The opening of a leaf's commitment: SHA-256 of the nonce and the canonical JSON of the hash and the rest."""

    nonce = TextField(help_text="16 bytes in hex.")
    user_id = TextField(help_text="The data subject of the record.")
    report_type = TextField()
    timestamp = TextField(help_text="When its block was written (UTC).")


class AnchorSerializer(ResponseSerializer):
    """A record, and its state in the ledger."""

    status = TextField(help_text="anchored or pending")
    record = TextField(help_text="The anchored text: canonical JSON.")
    record_sha256 = TextField()
    signature = SignatureSerializer(
        source="shown_signature", allow_null=True, help_text="Null for records older than the first record key."
    )
    anchored_at = DateTimeField(allow_null=True)
    block_number = Int64Field(allow_null=True)
    proof = FreeField(allow_null=True, help_text="The ledger's proof, as it was when the decision was anchored.")
    proof_file = TextField(
        source="kept_proof_file", allow_null=True, help_text="The same as a file (C2SP tlog-proof) to check offline."
    )
    opening = OpeningSerializer(allow_null=True, help_text="What the leaf commits to; null while it is not anchored.")


class DecisionSerializer(AnchorSerializer):
    """A decision, and its state in the ledger."""

    position = Int64Field(source="history.position", help_text="Which move of the application it was.")


class DecisionProofSerializer(DecisionSerializer):
    """The newest decision on an application, every decision in order, and every acceptance."""

    application_id = TextField()
    decisions = DecisionSerializer(many=True, help_text="Every decision, in order.")
    acceptances = AnchorSerializer(many=True, help_text="Every time that an approval was taken up.")


class BundleSerializer(ResponseSerializer):
    """The newest decision as a file to keep: each text is what was hashed, byte for byte."""

    record = TextField(help_text="The anchored record: canonical JSON.")
    signature = SignatureSerializer(
        allow_null=True, help_text="Signature of `record`; null for a record from before there were keys."
    )
    proof_file = TextField(allow_null=True, help_text="The ledger's proof of `record`; null while it is not anchored.")
    opening = OpeningSerializer(
        allow_null=True, help_text="The input of the leaf's commitment; null until it is anchored."
    )
    definition = TextField(allow_null=True, help_text="The scorecard, canonical JSON; null where nothing was scored.")
    facts = TextField(allow_null=True, help_text="The input of the score, canonical JSON; null once it is erased.")
    nonce = TextField(allow_null=True, help_text="The nonce of the facts' hash, in base64.")
    applicants = TextField(
        allow_null=True,
        help_text="The applicants, canonical JSON; null without applicants, and once they are erased or changed.",
    )
    applicants_nonce = TextField(allow_null=True, help_text="The nonce of the applicants' hash, in base64.")


class RecordKeySerializer(ResponseSerializer):
    """A public key, and the record by which the key before it announced it; the first announced itself."""

    id = TextField(source="key_id", help_text="The first 16 hex digits of the key's SHA-256.")
    public_key = TextField(help_text="Ed25519, 32 bytes in base64.")
    valid_from = DateTimeField(help_text="It signs what is decided from then on.")
    valid_until = DateTimeField(allow_null=True, help_text="When the next key begins; null for the last.")
    announcement = AnchorSerializer(source="anchor", help_text="The key's own record (`record_key`) in the ledger.")


class RecordKeysSerializer(ResponseSerializer):
    """Every key that signs records, or ever did."""

    keys = RecordKeySerializer(many=True, help_text="The oldest first.")
