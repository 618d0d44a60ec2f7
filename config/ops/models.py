from django.db import models

KINDS = ("development", "sandbox", "production")


class Installation(models.Model):
    """Whose database this is: one row, which the first migration writes from `ENVIRONMENT` and nothing changes."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    kind = models.CharField(max_length=16, choices=[(kind, kind) for kind in KINDS])

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="ops_installation_one"),
            models.CheckConstraint(condition=models.Q(kind__in=KINDS), name="ops_installation_kind"),
        ]

    def __str__(self) -> str:
        return self.kind
