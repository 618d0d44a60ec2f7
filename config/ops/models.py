from django.db import models

from config.core.ids import uuid7

KINDS = ("development", "sandbox", "production")


class Installation(models.Model):
    """The environment that owns this database: one row, which the first migration writes from `ENVIRONMENT`.

    Nothing changes `kind`. `rotate_encryption_key` moves `encryption` forward, and the database refuses the way back.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    kind = models.CharField(max_length=16, choices=[(kind, kind) for kind in KINDS])

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="ops_installation_one"),
            models.CheckConstraint(condition=models.Q(kind__in=KINDS), name="ops_installation_kind"),
        ]

    def __str__(self) -> str:
        return self.kind


class RequestLine(models.Model):
    """One API call, as its caller may see it for seven days: ids, a template and numbers only.

    The account is a number without a reference: lines are written a second later, in hundreds, and one account that is
    gone must not cost the others theirs. Ids grow with time, so that the table's key serves to read and to prune.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    account_id = models.BigIntegerField(help_text="Who called; of a partner that acts for somebody, the partner.")
    credential = models.CharField(max_length=80)
    method = models.CharField(max_length=8)
    route = models.CharField(max_length=160, help_text="The address's template, never an address.")
    status = models.PositiveSmallIntegerField()
    code = models.CharField(max_length=8, blank=True, default="", help_text="Of an error.")
    duration_ms = models.PositiveIntegerField()
    request_id = models.UUIDField()
    at = models.DateTimeField()

    class Meta:
        default_permissions = ()  # it is shown to its account alone
        indexes = [models.Index(fields=["account_id", "-id"], name="ops_requestline_account")]

    @property
    def shown_code(self) -> str | None:
        return self.code or None

    def __str__(self) -> str:
        return f"{self.method} {self.route} {self.status}"
