"""What is on its way into the ledger, and the proof that came back. Django finds it through `credit.models`."""

import json
from hashlib import sha256
from typing import Any

from django.db import models
from django.db.models import Q

from config.core.ids import uuid7
from config.core.json_text import JsonTextField


class DecisionAnchor(models.Model):
    """What is on its way into the ledger: a decision, an acceptance, or a published version of a scoring model.

    It is written with what it is about, and completed once it is anchored.

    `record` is the text that was anchored, byte for byte. `proof` is the ledger's answer and `proof_file` the file
    (C2SP tlog-proof) with which anybody can check the record offline.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    history = models.OneToOneField(
        "credit.ApplicationHistory", null=True, on_delete=models.PROTECT, related_name="anchor"
    )
    acceptance = models.OneToOneField("credit.Acceptance", null=True, on_delete=models.PROTECT, related_name="anchor")
    publication = models.OneToOneField(
        "credit.ModelVersionHistory", null=True, on_delete=models.PROTECT, related_name="anchor"
    )
    application = models.ForeignKey("credit.Application", null=True, on_delete=models.PROTECT, related_name="anchors")
    record = models.TextField()
    due_at = models.DateTimeField(help_text="When to try next.")
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=255, blank=True)
    anchored_at = models.DateTimeField(null=True)
    block_number = models.BigIntegerField(null=True)
    proof = JsonTextField(null=True)
    proof_file = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["due_at"], condition=Q(anchored_at__isnull=True), name="credit_anchor_due")]
        constraints = [
            models.CheckConstraint(
                condition=Q(history__isnull=False, acceptance__isnull=True, publication__isnull=True)
                | Q(history__isnull=True, acceptance__isnull=False, publication__isnull=True)
                | Q(history__isnull=True, acceptance__isnull=True, publication__isnull=False, application__isnull=True),
                name="credit_anchor_of_one",
            )
        ]

    def __str__(self) -> str:
        return self.record_sha256

    @property
    def subject_id(self) -> Any:
        """Return the account whose record it is: the consumer's as recorded, or that of whoever published a version."""
        if self.publication is not None:
            return self.publication.principal_id
        return json.loads(self.record)["consumer_id"]

    @property
    def report_type(self) -> str:
        """Return what the ledger keeps the record as."""
        if self.publication_id is not None:
            return "scoring_model_version"
        return "application_decision" if self.acceptance_id is None else "application_acceptance"

    @property
    def status(self) -> str:
        return "anchored" if self.anchored_at else "pending"

    @property
    def kept_proof_file(self) -> str | None:
        return self.proof_file or None

    @property
    def record_sha256(self) -> str:
        """Return the hash under which the ledger knows the record."""
        return sha256(self.record.encode()).hexdigest()
