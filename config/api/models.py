from django.conf import settings
from django.db import models

from config.core.ids import uuid7


class IdempotencyRecord(models.Model):
    """A request with an Idempotency-Key, and the exact bytes of its response.

    A request that calls a vendor first reserves its key. Without a response, `status` is 0, and `subject` is the ID of
    the record that the work creates.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # An account can retry with a rotated API key, so the owner is the account.
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_index=False, related_name="+")
    key = models.UUIDField()
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of method, path and canonical body, in hex.")
    status = models.PositiveSmallIntegerField()
    body = models.BinaryField()
    created_at = models.DateTimeField(db_index=True)
    subject = models.CharField(max_length=64, blank=True, default="")
    permanent = models.BooleanField(
        default=False, help_text="Whether the idempotency key never expires. True for card payments."
    )

    class Meta:
        verbose_name = "idempotency record"
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="api_idempotency_owner_key")]

    def __str__(self) -> str:
        return str(self.key)


class RateCounter(models.Model):
    bucket = models.CharField(max_length=160, help_text="The limit's name, and the account or address that it limits.")
    window = models.BigIntegerField(help_text="Minutes since the epoch.")
    used = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["bucket", "window"], name="api_rate_bucket_window")]
        indexes = [models.Index(fields=["window"], name="api_rate_window")]

    def __str__(self) -> str:
        return f"{self.bucket}@{self.window}"
