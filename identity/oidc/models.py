from datetime import datetime, timedelta

from django.conf import settings
from django.db import models

from config.core.ids import uuid7


class StaffIdentity(models.Model):
    """Links an account to a user of the issuer. The user's subject at the issuer never changes."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="staff_identities")
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "staff identities"
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="identity_staff_subject"),
            models.UniqueConstraint(fields=["issuer", "user"], name="identity_staff_account"),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class IssuerSessionQuerySet(models.QuerySet["IssuerSession"]):
    def live_at(self, moment: datetime) -> "IssuerSessionQuerySet":
        return self.filter(ended_at__isnull=True, began_at__gt=moment - IssuerSession.LASTS)


class IssuerSession(models.Model):
    """A page session that started with a log-in at the issuer.

    The session stores the row's ID, and ends when the row is deleted.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    identity = models.ForeignKey(StaffIdentity, on_delete=models.PROTECT, related_name="sessions")
    sid = models.CharField(max_length=255, blank=True, default="", help_text="The issuer's id of the session.")
    began_at = models.DateTimeField(db_index=True)
    ended_at = models.DateTimeField(null=True)

    objects = IssuerSessionQuerySet.as_manager()
    LASTS = timedelta(hours=8)

    class Meta:
        indexes = [models.Index(fields=["sid"], name="identity_issuer_session_sid")]

    @property
    def ends_at(self) -> datetime:
        return self.began_at + self.LASTS

    def __str__(self) -> str:
        return str(self.pk)
