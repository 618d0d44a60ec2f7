from django.db import models

from identity.providers.base import Progress


class SandboxVerification(models.Model):
    reference = models.CharField(primary_key=True, max_length=64)
    # The last part of the hosted page's URL. It is secret, because any caller who has it can act as the applicant.
    page_token = models.CharField(max_length=64, unique=True)
    redirect_uri = models.TextField(null=True)  # noqa: DJ001
    progress = models.CharField(
        max_length=16,
        choices=[(word.value, word.value) for word in Progress if word is not Progress.UNKNOWN],
        default=Progress.WAITING.value,
    )
    created_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.reference


class SandboxItem(models.Model):
    """An item of the sandbox. Tokens are stored as SHA-256, so a leaked database contains no tokens."""

    item_id = models.CharField(primary_key=True, max_length=64)
    public_digest = models.CharField(max_length=64, unique=True)
    access_digest = models.CharField(max_length=64, unique=True)
    login_required = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.item_id
