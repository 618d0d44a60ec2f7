"""Consents of accounts, with those that exist: linked banks and authorized apps."""

from itertools import islice

import django.db.models.deletion
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models

CHUNK_ROWS = 500


def store_existing(apps, schema_editor):
    alias = schema_editor.connection.alias
    consents = apps.get_model("identity", "Consent").objects.using(alias)
    items = apps.get_model("identity", "BankItem").objects.using(alias).filter(unlinked_at=None)
    families = apps.get_model("identity", "TokenFamily").objects.using(alias)
    apps_of = families.filter(client__isnull=False, revoked_at=None).select_related("client")

    def rows():
        for item in items.only("user_id", "provider", "item_id", "linked_at").iterator(chunk_size=CHUNK_ROWS):
            yield item.user_id, "bank_link", item.pk, f"{item.provider}: {item.item_id}", item.linked_at
        for family in apps_of.iterator(chunk_size=CHUNK_ROWS):
            yield family.user_id, "app", family.pk, f"{family.client.name}: {family.scope}", family.created_at

    names = ("account_id", "kind", "reference", "scope", "given_at")
    models_of_rows = (consents.model(**dict(zip(names, row, strict=True))) for row in rows())
    while chunk := list(islice(models_of_rows, CHUNK_ROWS)):
        consents.bulk_create(chunk)


class Migration(migrations.Migration):

    dependencies = [
        ('identity', '0013_token_family_ends'),
    ]

    operations = [
        migrations.CreateModel(
            name='Consent',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=32)),
                ('reference', models.UUIDField(db_index=True, editable=False)),
                ('scope', models.TextField()),
                ('text_sha256', models.CharField(max_length=64, null=True)),
                ('given_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='consents', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['account', '-id'], name='identity_consent_newest')],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ('bank_link', 'app', 'electronic_notices', 'lender_sharing', 'credit_report'))), name='identity_consent_kind_known')],
            },
        ),
        migrations.RunPython(store_existing, migrations.RunPython.noop),
    ]
