"""What the back office itself remembers: who looked at whom, who works on what, what waits for a second person, and the
second factors of those who work at it.

Records of every app are meant by kind (`credit.application`) and id, as text: the back office knows no app.
"""

import time
from binascii import unhexlify
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django_otp.models import Device, ThrottlingMixin, TimestampMixin
from django_otp.oath import TOTP

from config.core.context import request_id
from config.core.encryption import EncryptedTextField, UnreadableSecret
from config.core.ids import uuid7
from config.core.json_text import JsonTextField
from config.ops.unreadable import set_aside

PRESENT_FOR = timedelta(minutes=5)  # so long after opening a page somebody counts as being there


def named(record: models.Model) -> dict[str, Any]:
    """Return how the rows of a `RecordNamed` name a record."""
    return {"kind": record._meta.label_lower, "record_id": str(record.pk)}


def _person(**options: Any) -> Any:
    """Return a column that names an account, which can then no longer be deleted. Indexes are said with each model."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False, **options
    )


class RecordNamed(models.Model):
    kind = models.CharField(max_length=100)
    record_id = models.CharField(max_length=255)
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)

    class Meta:
        abstract = True


class DataAccess(RecordNamed):
    """Who saw or took whose data, when, and why; who asked a list for what it does not offer. Append-only."""

    PAGE, LIST, UNMASKED, EXPORT, REFUSED = "page", "list", "unmasked", "export", "refused"

    viewer = _person()
    subject = _person(null=True, help_text="Whose data; empty where a list showed many.")
    action = models.CharField(max_length=16, choices=[(word, word) for word in (PAGE, LIST, UNMASKED, EXPORT, REFUSED)])
    was_masked = models.BooleanField(default=False)
    reason = models.TextField(blank=True)
    details = JsonTextField(null=True)
    request_id = models.CharField(max_length=36, blank=True)
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["kind", "record_id", "-id"], name="backoffice_data_access_record"),
            models.Index(fields=["subject", "-id"], name="backoffice_data_access_subject"),
            models.Index(fields=["viewer", "-id"], name="backoffice_data_access_viewer"),
        ]
        permissions = [
            ("view_personal_data", "Can see personal data unmasked"),
            ("unmask_personal_data", "Can unmask personal data with a reason"),
            ("export_records", "Can export lists"),
        ]

    def __str__(self) -> str:
        return f"{self.action} by {self.viewer_id}"

    @classmethod
    def note(cls, action: str, *, viewer: Any, kind: str, now: datetime, **facts: Any) -> None:
        cls.objects.create(action=action, viewer=viewer, kind=kind, at=now, request_id=request_id.get(), **facts)

    @classmethod
    def present_beside(cls, viewer: Any, *, kind: str, record_id: str, now: datetime) -> list[str]:
        """Return the names of the others who opened this record's page a moment ago."""
        recent = cls.objects.filter(kind=kind, record_id=record_id, action=cls.PAGE, at__gte=now - PRESENT_FOR)
        return sorted(set(recent.exclude(viewer=viewer).values_list("viewer__username", flat=True)[:50]))


class Assignment(RecordNamed):
    """Whose work a record is. At most one person's."""

    assignee = _person()
    assigned_by = _person()
    assigned_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "record_id"], name="backoffice_assignment_one")]
        indexes = [models.Index(fields=["assignee", "kind", "assigned_at"], name="backoffice_assignment_of")]

    def __str__(self) -> str:
        return f"{self.kind} {self.record_id} for {self.assignee_id}"


class Note(RecordNamed):
    """What one of the staff wrote for the others about a record; nobody else ever sees it. Append-only."""

    author = _person()
    mentioned = _person(null=True)
    text = models.TextField()
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["kind", "record_id", "id"], name="backoffice_note_record"),
            models.Index(fields=["mentioned", "kind", "at"], name="backoffice_note_mentioned"),
        ]

    def __str__(self) -> str:
        return self.text[:80]

    @classmethod
    def unread_by(cls, user: Any) -> models.QuerySet["Note"]:
        """Select the notes that mention somebody who has not opened the record's page since."""
        looked = DataAccess.objects.filter(
            kind=OuterRef("kind"), record_id=OuterRef("record_id"), viewer=user, action=DataAccess.PAGE
        ).filter(at__gte=OuterRef("at"))
        return cls.objects.filter(~Exists(looked), mentioned=user)


class ReplyTemplate(models.Model):
    """A text that reviewers use again: the names of documents, one in each line, or a reason."""

    DOCUMENTS, REASON = "documents", "reason"

    use = models.CharField(max_length=16, choices=[(DOCUMENTS, "documents to ask for"), (REASON, "a reason")])
    name = models.CharField(max_length=80)
    text = models.TextField(max_length=10_000, help_text="Of documents one in each line.")

    class Meta:
        ordering = ["use", "name"]
        constraints = [models.UniqueConstraint(fields=["use", "name"], name="backoffice_template_once")]

    def __str__(self) -> str:
        return self.name


class SavedView(models.Model):
    """The search and the filters of a list, kept by one of the staff under a name of their own."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=100)
    name = models.CharField(max_length=40)
    query = models.CharField(max_length=1_000)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["owner", "kind", "name"], name="backoffice_view_once")]

    def __str__(self) -> str:
        return self.name


class Proposal(RecordNamed):
    """A decision of one person, or of a scoring model, that another has to confirm; void once the record is no longer
    as it was `seen`.
    """

    CONFIRMED, VOID, WITHDRAWN, DECLINED = "confirmed", "void", "withdrawn", "declined"

    to = models.CharField(max_length=32)
    reason = models.TextField(null=True)  # noqa: DJ001  as the history keeps it
    metadata = JsonTextField(null=True)
    seen = models.CharField(max_length=255)
    proposed_by = _person(null=True)
    proposed_as = models.CharField(max_length=80, blank=True, help_text="The credential, where no person proposed.")
    proposed_at = models.DateTimeField()
    outcome = models.CharField(max_length=16, blank=True)
    closed_by = _person(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "record_id"], condition=Q(closed_at__isnull=True), name="backoffice_proposal_one_open"
            ),
            models.CheckConstraint(
                condition=Q(closed_at__isnull=True, outcome="") | Q(closed_at__isnull=False) & ~Q(outcome=""),
                name="backoffice_proposal_closed_whole",
            ),
            models.CheckConstraint(
                condition=~Q(outcome="confirmed") | ~Q(closed_by=models.F("proposed_by")),
                name="backoffice_proposal_two_people",
            ),
            models.CheckConstraint(
                condition=Q(proposed_by__isnull=False, proposed_as="")
                | Q(proposed_by__isnull=True) & ~Q(proposed_as=""),
                name="backoffice_proposal_by_one",
            ),
        ]
        indexes = [
            models.Index(fields=["proposed_at"], condition=Q(closed_at__isnull=True), name="backoffice_proposal_open"),
            models.Index(fields=["kind", "record_id", "-id"], name="backoffice_proposal_record"),
        ]

    def __str__(self) -> str:
        return f"{self.to} for {self.kind} {self.record_id}"

    @property
    def proposer(self) -> str:
        """The name of the person, or of what proposed in a person's place."""
        return self.proposed_as if self.proposed_by is None else self.proposed_by.get_username()

    def close(self, outcome: str, *, by: Any, now: datetime) -> bool:
        """End the proposal; False when somebody else has ended it."""
        still_open = type(self).objects.filter(pk=self.pk, closed_at__isnull=True)
        return bool(still_open.update(outcome=outcome, closed_by=by, closed_at=now))


class Authenticator(TimestampMixin, ThrottlingMixin, Device):  # type: ignore[misc]
    """A person's authenticator: shows a code of six digits every thirty seconds (TOTP, RFC 6238).

    django-otp's own device keeps its secret in the clear, and whoever reads a back-up could then show codes; here it
    is encrypted. A code is good once, and the clocks may be one step apart.
    """

    DIGITS, STEP_SECONDS, TOLERANCE_STEPS = 6, 30, 1

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    secret = EncryptedTextField(help_text="The shared secret, in hexadecimal digits.")
    drift = models.SmallIntegerField(default=0, help_text="By how many steps the device is ahead of our clock.")
    last_step = models.BigIntegerField(default=-1, help_text="The step of the last code that was used.")

    class Meta:
        verbose_name = "authenticator"

    @classmethod
    def totp(cls, secret: str, drift: int = 0) -> TOTP:
        codes = TOTP(unhexlify(secret), step=cls.STEP_SECONDS, digits=cls.DIGITS, drift=drift)
        codes.time = time.time()
        return codes

    @classmethod
    def proven(cls, user: Any, secret: str, code: int) -> "Authenticator | None":
        """Return the new device of somebody who has just shown a code of `secret`, None when it is not its code."""
        codes = cls.totp(secret)
        if not codes.verify(code, cls.TOLERANCE_STEPS):
            return None
        # The code that proved the secret's arrival is spent.
        device = cls(user=user, name="Authenticator", secret=secret, drift=codes.drift, last_step=codes.t())
        device.save()
        return device

    def verify_token(self, token: Any) -> bool:
        """Use a code; False when it is wrong, used already, or comes too soon after wrong ones."""
        allowed, _why_not = self.verify_is_allowed()
        if not allowed:
            return False
        try:
            codes = self.totp(self.secret, self.drift)
        except UnreadableSecret as found:
            set_aside(found)  # `reset_second_factor` lets its owner add a new one
            return False
        if not codes.verify(int(token), self.TOLERANCE_STEPS, self.last_step + 1):
            self.throttle_increment(commit=True)
            return False
        self.last_step, self.drift = codes.t(), codes.drift
        self.throttle_reset(commit=False)
        self.set_last_used_timestamp(commit=False)
        self.save()
        return True

    def get_throttle_factor(self) -> float:
        """Return the seconds to wait after the first wrong code; each further one doubles them."""
        return 1
