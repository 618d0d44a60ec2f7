"""Models of loan terms, counteroffers, and European information forms."""

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.encryption import EncryptedTextField
from config.core.ids import uuid7
from config.core.json_text import JsonTextField, rfc3339
from credit.core.jurisdictions import EU, METHODS
from credit.core.quotes import eu_totals
from credit.models.closable import ClosableModel


def number(value: Decimal | None) -> float | int | None:
    """Convert a decimal to a number, without a redundant fraction: 7, not 7.0."""
    if value is None:
        return None
    return int(value) if value == value.to_integral_value() else float(value)


def loan_to_dict(loan: Any) -> dict[str, Any]:
    """Return the terms that a lender sets for a loan, in the JSON format of a decision."""
    first = loan.first_payment_on
    return {
        "amount_cents": loan.amount_cents,
        "rate_percent": number(loan.rate_percent),
        "term_months": loan.term_months,
        "fee_cents": loan.fee_cents,
        "first_payment_on": None if first is None else first.isoformat(),
    }


class LoanTerms(models.Model):
    """The terms and the cost of a loan that starts on `as_of`. Append-only.

    A line of credit has a limit (`amount_cents`) but no computed figures. `schedule_sha256` is the hash of the
    payments' canonical JSON.
    """

    APPROVAL, COUNTEROFFER = "approval", "counteroffer"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey("credit.Application", on_delete=models.PROTECT, related_name="all_terms")
    kind = models.CharField(max_length=16, choices=[(kind, kind) for kind in (APPROVAL, COUNTEROFFER)])
    amount_cents = models.BigIntegerField()
    rate_percent = models.DecimalField(max_digits=8, decimal_places=4, help_text="The note rate a year.")
    term_months = models.IntegerField(null=True)
    fee_cents = models.BigIntegerField(default=0)
    first_payment_on = models.DateField(null=True)
    payment_cents = models.BigIntegerField(null=True)
    final_payment_cents = models.BigIntegerField(null=True)
    total_of_payments_cents = models.BigIntegerField(null=True)
    finance_charge_cents = models.BigIntegerField(null=True)
    amount_financed_cents = models.BigIntegerField(null=True)
    apr_percent = models.DecimalField(max_digits=12, decimal_places=4, null=True)
    method = models.CharField(max_length=16, blank=True)
    as_of = models.DateField()
    schedule_sha256 = models.CharField(max_length=64, blank=True)
    terms_sha256 = models.CharField(max_length=64)
    made_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "loan terms"

    def __str__(self) -> str:
        return self.terms_sha256

    @property
    def apr_number(self) -> float | int | None:
        return number(self.apr_percent)

    def to_dict(self) -> dict[str, Any]:
        """Return the input of `terms_sha256`: all terms except for the day and the schedule, which change daily."""
        return {
            "application_id": str(self.application_id),
            "kind": self.kind,
            **loan_to_dict(self),
            "payment_cents": self.payment_cents,
            "final_payment_cents": self.final_payment_cents,
            "total_of_payments_cents": self.total_of_payments_cents,
            "finance_charge_cents": self.finance_charge_cents,
            "amount_financed_cents": self.amount_financed_cents,
            "apr_percent": number(self.apr_percent),
            "method": self.method or None,
            **(self._of_directive() if self.method == METHODS[EU] else {}),
        }

    def _of_directive(self) -> dict[str, Any]:
        """Return the currency and the figures of Directive (EU) 2023/2225, Art. 3. A line of credit has no figures."""
        conventions = self.application.conventions
        return eu_totals(conventions, self.amount_cents, self.fee_cents, self.finance_charge_cents)

    def to_record(self) -> dict[str, Any]:
        """Return the terms in the format of ledger records."""
        return {
            "terms": self.to_dict(),
            "terms_sha256": self.terms_sha256,
            "terms_as_of": self.as_of.isoformat(),
            "schedule_sha256": self.schedule_sha256 or None,
        }


NOT_RECORDED: dict[str, Any] = dict.fromkeys(("terms", "terms_sha256", "terms_as_of", "schedule_sha256"))


class Counteroffer(ClosableModel):
    """A lender's counteroffer, and its outcome. An application has at most one open counteroffer.

    If the counteroffer expires, `reasons` are the principal reasons of the rejection.
    """

    OPEN, ACCEPTED, DECLINED, WITHDRAWN = "open", "accepted", "declined", "withdrawn"
    EXPIRED, SUPERSEDED = "expired", "superseded"
    OUTCOMES = (ACCEPTED, DECLINED, WITHDRAWN, EXPIRED, SUPERSEDED)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(
        "credit.Application", on_delete=models.PROTECT, related_name="counteroffers", db_index=False
    )
    loan_terms = models.OneToOneField(LoanTerms, on_delete=models.PROTECT, related_name="counteroffer")
    reasons: Any = JsonTextField(
        help_text="The principal reasons of the rejection that follows when the applicant doesn't respond."
    )
    expires_at = models.DateTimeField(help_text="When the counteroffer expires (UTC).")
    offered_at = models.DateTimeField(help_text="When the counteroffer was created or proposed (UTC).")
    seen = models.CharField(max_length=255, help_text="The application's state that it is bound to.")
    offered_by = models.CharField(
        max_length=255,
        help_text="The account that created the counteroffer: its `user_id`, or its user name if the counteroffer was "
        "created in the back office or the lender console.",
    )
    with_denial = models.BooleanField(
        default=False,
        help_text="The notice of the counteroffer also denies the request, so its expiry requires no second notice.",
    )
    consumer_report = JsonTextField(
        null=True, help_text="The consumer report, in the form of `metadata.consumer_report` of a decision."
    )
    four_eyes = JsonTextField(null=True, help_text="The two reviewers who proposed and confirmed it.")
    principal = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    credential = models.CharField(max_length=80)

    class Meta(ClosableModel.Meta):
        ordering = ["id"]
        indexes = [
            models.Index(fields=["application", "-id"], name="credit_counteroffer_record"),
            models.Index(fields=["expires_at"], condition=Q(closed_at__isnull=True), name="credit_counteroffer_open"),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def status(self) -> str:
        return self.outcome or self.OPEN

    @property
    def terms(self) -> dict[str, Any]:
        return self.loan_terms.to_dict()

    @property
    def terms_sha256(self) -> str:
        return self.loan_terms.terms_sha256

    @classmethod
    def supersede_open(cls, application: Any, *, by: Any, now: datetime) -> bool:
        """Close the open counteroffer, if any, as superseded. Return whether a counteroffer was closed."""
        if not application.counteroffer_moves:
            return False
        offered = cls.objects.filter(application=application, closed_at__isnull=True).first()
        return offered is not None and offered.close(cls.SUPERSEDED, by=by, now=now)

    def to_record(self) -> dict[str, Any]:
        """Return the counteroffer in the format of the later decision's history and ledger record."""
        two = {} if self.four_eyes is None else {"four_eyes": self.four_eyes}
        offered = {"id": str(self.pk), "offered_by": self.offered_by, "offered_at": rfc3339(self.offered_at)}
        return {**offered, "reasons": self.reasons, **two}

    @property
    def rejection_metadata(self) -> dict[str, Any]:
        """Return the metadata of the rejection that follows if the counteroffer expires."""
        report = {} if self.consumer_report is None else {"consumer_report": self.consumer_report}
        return {"reasons": self.reasons, **report}

    def close(self, outcome: str, *, by: Any, now: datetime, **conditions: Any) -> bool:
        """Close the counteroffer, and return whether this call closed it. An expired counteroffer can't be accepted."""
        if outcome == self.ACCEPTED:
            conditions["expires_at__gt"] = now
        return super().close(outcome, by=by, now=now, **conditions)


class Precontract(models.Model):
    """The European information form (Directive (EU) 2023/2225, Art. 10) for a loan, in one language. It never changes.

    `html` is the exact form, `sha256` is the hash of its UTF-8 bytes, and `content` is the JSON of its rows and
    payments. `provided_at` is the time when the applicant first received the form. `opened_at` is the time when the
    applicant first opened the form as a page or a PDF.
    """

    API, PORTAL = MEDIA = ("api", "portal")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey("credit.Application", on_delete=models.PROTECT, related_name="precontracts")
    terms_sha256 = models.CharField(
        max_length=64, help_text="The SHA-256 of the canonical JSON of the form's terms, in hex."
    )
    language = models.CharField(max_length=8, help_text="The language of the form.")
    # An erasure sets this column to null.
    content = EncryptedTextField(null=True)
    html = EncryptedTextField(null=True)
    sha256 = models.CharField(max_length=64, help_text="The SHA-256 of the form's HTML, in hex.")
    medium = models.CharField(  # noqa: DJ001  null until the form is provided
        max_length=8,
        null=True,
        choices=[(medium, medium) for medium in MEDIA],
        help_text="How the applicant first got the form: `api` or `portal`. Null before then.",
    )
    made_at = models.DateTimeField(help_text="When the form was created (UTC).")
    provided_at = models.DateTimeField(
        null=True, help_text="When the applicant first got the form (UTC). Null before then."
    )
    opened_at = models.DateTimeField(
        null=True, help_text="When the applicant first opened the form as a page or a PDF (UTC). Null before then."
    )

    class Meta:
        db_table = "credit_precontract"
        ordering = ["id"]
        verbose_name = "European information form"
        constraints = [
            models.UniqueConstraint(fields=["application", "terms_sha256", "language"], name="credit_precontract_once")
        ]

    def __str__(self) -> str:
        return self.sha256

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self.content)["rows"]
        return rows

    @property
    def schedule(self) -> list[dict[str, Any]]:
        schedule: list[dict[str, Any]] = json.loads(self.content)["schedule"]
        return schedule

    def note_provision(self, medium: str, *, is_opened: bool, now: datetime) -> None:
        """Store when the applicant first received the form and, with `is_opened`, first opened the form."""
        changed: dict[str, Any] = {}
        if self.provided_at is None:
            changed |= {"provided_at": now, "medium": medium}
        if is_opened and self.opened_at is None:
            changed["opened_at"] = now
        for name, value in changed.items():
            setattr(self, name, value)
        if changed:
            self.save(update_fields=[*changed])
