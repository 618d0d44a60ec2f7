"""The model of reports from credit bureaus and income vendors about applicants."""

from datetime import date, datetime
from typing import Any, NamedTuple

import orjson
from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.encryption import EncryptedTextField, blind_digests, readable
from config.core.ids import uuid7
from config.core.json_text import canonical_json
from credit.core.applicants import FIRST
from credit.core.report_summary import CURRENCY, FIGURES
from credit.models.person_keys import identity_of

KINDS = CREDIT, INCOME = ("credit", "income")
# These are the purposes of 15 USC 1681b(a)(3)(A) and of 15 USC 1681b(a)(2).
PURPOSES = CREDIT_TRANSACTION, WRITTEN_INSTRUCTIONS = ("credit_transaction", "written_instructions")
REQUESTED, RECEIVED, NO_FILE, FROZEN, FAILED = "requested", "received", "no_file", "frozen", "failed"
STATUSES = (REQUESTED, RECEIVED, NO_FILE, FROZEN, FAILED)


class ReportFigures(NamedTuple):
    """The newest unexpired values of the reports about an applicant. Missing values are None."""

    status: str | None
    score: int | None
    income_monthly_cents: int | None
    obligations_monthly_cents: int | None
    delinquencies_24_months: int | None
    inquiries_6_months: int | None
    oldest_account_months: int | None
    as_of: str | None
    day: date | None
    income_day: date | None


class Report(models.Model):
    """A report that was requested from a vendor. Its status changes once: when the vendor responds or fails."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The report's id.")
    application = models.ForeignKey(
        "credit.Application", on_delete=models.PROTECT, related_name="reports", db_index=False
    )
    applicant = models.PositiveSmallIntegerField(
        help_text="The number of the applicant whom the report is about: 1 or 2."
    )
    kind = models.CharField(
        max_length=16,
        choices=[(kind, kind) for kind in KINDS],
        help_text="The kind of the report: `credit` or `income`.",
    )
    vendor = models.CharField(max_length=64, help_text="The name of the vendor.")
    purpose = models.CharField(
        max_length=32, choices=[(purpose, purpose) for purpose in PURPOSES],
        help_text="The permissible purpose: `credit_transaction` (15 USC 1681b(a)(3)(A)) or `written_instructions` "
        "(15 USC 1681b(a)(2)).",
    )  # fmt: skip
    status = models.CharField(
        max_length=16, choices=[(status, status) for status in STATUSES], default=REQUESTED,
        help_text="The status of the report: `requested`, `received`, `no_file`, `frozen`, or `failed`.",
    )  # fmt: skip
    # This is a keyed hash of the applicant's name, birth date, and address.
    person = models.CharField(max_length=64)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False,
        help_text="The `user_id` of the reviewer who requested the report. Null if the offer requested it at the "
        "submission.",
    )  # fmt: skip
    requested_at = models.DateTimeField(help_text="When the report was requested (UTC).")
    look_at = models.DateTimeField()
    score_waits = models.BooleanField(
        default=False, db_default=False, help_text="Whether the score of the submission waits for the report."
    )
    as_of = models.DateField(
        null=True, help_text="The day of the report's data. Null until the report arrives, and if the report failed."
    )
    expires_at = models.DateTimeField(
        null=True,
        help_text="When the report expires as a source of facts (UTC). Null until the report arrives, and if the "
        "report failed.",
    )
    summary = EncryptedTextField(null=True)
    summary_sha256 = models.CharField(  # noqa: DJ001  null: no summary
        max_length=64,
        null=True,
        help_text="The SHA-256 of the summary's canonical JSON, in hex. Null if there is none.",
    )
    raw = EncryptedTextField(null=True)
    raw_sha256 = models.CharField(max_length=64, null=True)  # noqa: DJ001

    # Responses to reviewers have this value as `raw`.
    shown_raw: str | None = None
    # This is true if a request returned this earlier report.
    is_reused = False

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["application", "id"], name="credit_report_newest"),
            models.Index(fields=["person", "kind"], name="credit_report_person"),
            models.Index(fields=["look_at"], condition=Q(status=REQUESTED), name="credit_report_open"),
            models.Index(fields=["application"], condition=Q(score_waits=True), name="credit_report_score_waits"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["application", "applicant", "kind"],
                condition=Q(status=REQUESTED),
                name="credit_report_one_open",
            ),
            models.CheckConstraint(condition=Q(status__in=STATUSES), name="credit_report_status_known"),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def parsed_summary(self) -> dict[str, Any] | None:
        """The parsed summary, or None if there is no summary or it can't be decrypted."""
        summary = readable(lambda: self.summary)
        return None if summary is None else {"currency": CURRENCY, **orjson.loads(summary)}

    @staticmethod
    def persons_of(application: Any, applicant: int) -> list[str]:
        """Return the keyed hashes of an applicant's name, birth date, and address, beginning with the hash to store.

        The list is empty if the name or the birth date is unknown.
        """
        identity = identity_of(application, applicant)
        if identity is None:
            return []
        address = list(application.applicants)[applicant - 1].get("address")
        return blind_digests(f"{identity}:{canonical_json(address).decode()}")

    def is_about(self, application: Any) -> bool:
        """Return whether the applicant's name, birth date, and address are unchanged since the report was requested."""
        return self.person in readable(lambda: self.persons_of(application, self.applicant), ())

    def is_current(self, now: datetime) -> bool:
        return self.status == RECEIVED and self.expires_at is not None and self.expires_at > now

    @classmethod
    def figures_of(cls, application: Any, now: datetime, applicant: int = FIRST) -> ReportFigures:
        """Return the figures from the reports about an applicant, with a single query.

        Amounts in a currency that differs from the application's currency are None.
        """
        reports = cls.objects.filter(application=application.pk, applicant=applicant)
        newest = {report.kind: report for report in reports if report.is_about(application)}
        summaries, days = {}, {}
        for kind, report in newest.items():
            summaries[kind] = (report.parsed_summary if report.is_current(now) else None) or {}
            days[kind] = report.as_of if summaries[kind] else None
            if summaries[kind] and summaries[kind]["currency"] != application.currency:
                summaries[kind] |= {name: None for name in FIGURES if name.endswith("_cents")}
        credit, income = summaries.get(CREDIT, {}), summaries.get(INCOME, {})
        day = days.get(CREDIT)
        return ReportFigures(
            status=newest[CREDIT].status if CREDIT in newest else None,
            score=(credit.get("score") or {}).get("value"),
            income_monthly_cents=income.get(FIGURES[0]),
            **{name: credit.get(name) for name in FIGURES[1:]},
            as_of=None if day is None else day.isoformat(),
            day=day,
            income_day=days.get(INCOME),
        )
