import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models


def say_which(apps, editor):
    installations = apps.get_model("ops", "Installation").objects.using(editor.connection.alias)
    installations.create(kind=settings.ENVIRONMENT)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Installation',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('development', 'development'), ('sandbox', 'sandbox'), ('production', 'production')], max_length=16)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='ops_installation_one'), models.CheckConstraint(condition=models.Q(('kind__in', ('development', 'sandbox', 'production'))), name='ops_installation_kind')],
            },
        ),
        migrations.CreateModel(
            name="RequestLine",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account_id",
                    models.BigIntegerField(help_text="Who called; of a partner that acts for somebody, the partner."),
                ),
                ("credential", models.CharField(max_length=80)),
                ("method", models.CharField(max_length=8)),
                ("route", models.CharField(help_text="The address's template, never an address.", max_length=160)),
                ("status", models.PositiveSmallIntegerField()),
                ("code", models.CharField(blank=True, default="", help_text="Of an error.", max_length=8)),
                ("duration_ms", models.PositiveIntegerField()),
                ("request_id", models.UUIDField()),
                ("at", models.DateTimeField()),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["account_id", "-id"], name="ops_requestline_account")],
            },
        ),
        migrations.RunPython(say_which, migrations.RunPython.noop),
    ]
