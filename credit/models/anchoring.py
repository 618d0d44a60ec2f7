"""Models of the ledger records, of the keys that sign the records, and of the proofs that the ledger returns."""

import json
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.digest import digest_of
from config.core.encryption import EncryptedTextField
from config.core.ids import uuid7
from config.core.json_text import JsonTextField

# For each foreign key to a record's subject, this is the report type in the ledger.
REPORT_TYPES = {
    "history": "application_decision",
    "acceptance": "acceptance",
    "publication": "scoring_model_version",
    "record_key": "record_key",
    "notice": "notice",
    "withdrawal": "contract_withdrawal",
}


def _only(about: str) -> Q:
    return Q(**{f"{name}__isnull": name != about for name in REPORT_TYPES})


class RecordKey(models.Model):
    """An Ed25519 key that signs records from `valid_from` until the next key's `valid_from`. It is never deleted."""

    number = models.PositiveIntegerField(primary_key=True, help_text="1, 2, …: the next is signed by the one before.")
    key_id = models.CharField(
        unique=True, max_length=16, help_text="The first 16 hex digits of the public key's SHA-256."
    )
    public_key = models.CharField(max_length=44, help_text="The Ed25519 public key, 32 bytes in base64.")
    private_key = EncryptedTextField(help_text="The seed, 32 bytes in base64.")
    valid_from = models.DateTimeField(help_text="The beginning of the key's period (UTC).")

    class Meta:
        ordering = ["number"]

    def __str__(self) -> str:
        return self.key_id


class DecisionAnchor(models.Model):
    """A record for the ledger, with a signature and a proof.

    The subject of a record is a decision, an acceptance, a withdrawal from a contract, a notice, a published scoring
    model, or a record key. The row is created in the transaction that creates the subject. The proof is added later,
    when the ledger anchors the record.

    `record` is the exact anchored text. `proof` is the ledger's response. `proof_file` (C2SP tlog-proof) is for offline
    verification. `nonce` opens the commitment of the record's leaf in the ledger. Records that are older than the first
    record key have no `signature`.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    history = models.OneToOneField(
        "credit.ApplicationHistory", null=True, on_delete=models.PROTECT, related_name="anchor"
    )
    acceptance = models.OneToOneField("credit.Acceptance", null=True, on_delete=models.PROTECT, related_name="anchor")
    publication = models.OneToOneField(
        "credit.ModelVersionHistory", null=True, on_delete=models.PROTECT, related_name="anchor"
    )
    notice = models.OneToOneField("credit.Notice", null=True, on_delete=models.PROTECT, related_name="anchor")
    # This column needs no index, because an application has at most one withdrawal, and `application` is indexed.
    withdrawal = models.ForeignKey(
        "credit.ContractWithdrawal", null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    record_key = models.OneToOneField(RecordKey, null=True, on_delete=models.PROTECT, related_name="anchor")
    application = models.ForeignKey("credit.Application", null=True, on_delete=models.PROTECT, related_name="anchors")
    record = models.TextField(help_text="The record that the ledger anchors, as canonical JSON.")
    openings = EncryptedTextField(
        null=True, help_text="Value and nonce of each of the record's `hashes`, canonical JSON; null once erased."
    )
    signed_by = models.ForeignKey(
        RecordKey, null=True, on_delete=models.PROTECT, to_field="key_id", related_name="+", db_index=False
    )
    signature = models.CharField(max_length=88, blank=True, help_text="64 bytes in base64.")
    due_at = models.DateTimeField(help_text="When to try next.")
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=255, blank=True)
    anchored_at = models.DateTimeField(
        null=True, help_text="When the ledger anchored the record (UTC). Null before then."
    )
    block_number = models.BigIntegerField(
        null=True, help_text="The number of the ledger's block. Null until the record is anchored."
    )
    proof = JsonTextField(
        null=True, help_text="The ledger's inclusion proof at the time of anchoring. Null before then."
    )
    proof_file = models.TextField(
        blank=True, help_text="The proof as a file (C2SP tlog-proof) for offline verification."
    )
    nonce = models.CharField(max_length=32, blank=True, help_text="16 bytes in hex.")

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["due_at"], condition=Q(anchored_at__isnull=True), name="credit_anchor_due")]
        constraints = [
            models.CheckConstraint(
                condition=_only("history")
                | _only("acceptance")
                | _only("notice")
                | _only("withdrawal")
                | ((_only("publication") | _only("record_key")) & Q(application__isnull=True)),
                name="credit_anchor_of_one",
            ),
            models.CheckConstraint(
                condition=Q(signed_by__isnull=True, signature="") | (Q(signed_by__isnull=False) & ~Q(signature="")),
                name="credit_anchor_signed_whole",
            ),
        ]

    def __str__(self) -> str:
        return self.record_sha256

    @property
    def subject_id(self) -> Any:
        """Return the record's `user_id`: the applicant, the publisher of a model version, or the platform for a key."""
        if self.publication is not None:
            return self.publication.principal_id
        return settings.PROVIDER_ID if self.application is None else str(self.application.consumer_id)

    @property
    def report_type(self) -> str:
        return next(kind for about, kind in REPORT_TYPES.items() if getattr(self, f"{about}_id") is not None)

    @property
    def signature_and_key(self) -> dict[str, str] | None:
        return {"key": self.signed_by_id, "value": self.signature} if self.signed_by_id else None

    @property
    def opening(self) -> dict[str, str] | None:
        """Return the values that open the leaf's commitment, except for the record's hash.

        Return None before anchoring.
        """
        if not self.nonce:
            return None
        committed = {
            "user_id": str(self.subject_id),
            "report_type": self.report_type,
            "timestamp": self.proof["timestamp"],
        }
        return {"nonce": self.nonce, **committed}

    @property
    def includes_score(self) -> bool:
        return json.loads(self.record).get("facts_sha256") is not None

    @property
    def status(self) -> str:
        return "anchored" if self.anchored_at else "pending"

    @property
    def kept_proof_file(self) -> str | None:
        return self.proof_file or None

    @property
    def record_sha256(self) -> str:
        return digest_of(self.record)
