"""Append-only records of an application: revisions of its data, acceptances, and withdrawals from agreements."""

from typing import Any

from django.conf import settings
from django.db import models

from config.core.ids import uuid7
from config.core.json_text import JsonTextField
from credit.models.applications import Application
from credit.models.terms import LoanTerms


class _SignedRecord(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    principal = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    credential = models.CharField(max_length=80)

    class Meta:
        abstract = True
        ordering = ["id"]


class ApplicationRevision(_SignedRecord):
    """A change of `application_data` or of the applicants, with the author, the time, and the new hashes.

    For `application_data`, `changes` has the old and new values. For applicants, which can be erased, `changes` has
    only the names of the changed fields.
    """

    application = models.ForeignKey(Application, on_delete=models.PROTECT, related_name="revisions")
    status = models.CharField(max_length=32, help_text="The status of the application when its data changed.")
    sha256 = models.CharField(max_length=64)
    applicants_sha256 = models.CharField(max_length=64, null=True)  # noqa: DJ001  null without applicants
    changes = JsonTextField(null=True, help_text="The changed fields, with the old and the new value.")
    updated_by = models.CharField(max_length=255)
    changed_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.sha256


class Acceptance(_SignedRecord):
    """The applicant's acceptance of an approval, with the accepted terms.

    A reopened application can have several acceptances.
    """

    application = models.ForeignKey(Application, on_delete=models.PROTECT, related_name="acceptances")
    terms_sha256 = models.CharField(max_length=64)
    loan_terms = models.ForeignKey(
        LoanTerms, null=True, on_delete=models.PROTECT, related_name="acceptances", db_index=False
    )
    accepted_at = models.DateTimeField()
    members: Any = JsonTextField(
        null=True, help_text="The agreement's items in words; null for an older agreement under other law than EU."
    )

    def __str__(self) -> str:
        return self.terms_sha256

    @property
    def proof(self) -> Any:
        """Return the ledger record of the acceptance, or None."""
        return getattr(self, "anchor", None)


class ContractWithdrawal(_SignedRecord):
    """A borrower's withdrawal from an accepted agreement. It ends the agreement for all borrowers.

    The period and the figures are computed for the day on which the withdrawal was recorded.
    """

    PORTAL, API, EMAIL, POST, IN_PERSON = CHANNELS = ("portal", "api", "email", "post", "in_person")

    application = models.OneToOneField(Application, on_delete=models.PROTECT, related_name="contract_withdrawal")
    declared_at = models.DateTimeField(help_text="When the declaration was sent (UTC).")
    received_at = models.DateTimeField(help_text="When the declaration was recorded (UTC).")
    channel = models.CharField(max_length=16, choices=[(channel, channel) for channel in CHANNELS])
    period_ends_at = models.DateTimeField(null=True, help_text="The end of the period (UTC); null if there is none.")
    repay_by = models.DateField(help_text="The last day for repayment.")
    interest_a_day_cents = models.BigIntegerField(
        null=True, help_text="The interest per day until repayment, in the minor unit; null if the amount is not known."
    )

    def __str__(self) -> str:
        return f"withdrawal from {self.application_id}"

    @property
    def proof(self) -> Any:
        """Return the ledger record of the withdrawal, or None."""
        return self.application.anchors.filter(withdrawal=self).first()
