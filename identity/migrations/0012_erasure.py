"""Erasures of accounts. Requests to delete an account become erasures; `process_privacy` carries over later ones."""


from datetime import timedelta

import django.db.models.deletion
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models
from django.utils import timezone

from config.core.encryption import blind_digests


def carry_over(apps, schema_editor):
    """Turn each request of version 1.0 into an erasure that starts 14 days after the upgrade.

    An account that is active again was re-enabled by an operator: its request is dropped.
    """
    alias, now = schema_editor.connection.alias, timezone.now()
    erasures = apps.get_model("identity", "Erasure").objects.using(alias)
    requests = apps.get_model("identity", "DeletionRequest").objects.using(alias)
    for old in list(requests.select_related("user").order_by("requested_at")):
        if not old.user.is_active:
            erasures.create(
                account_id=old.user_id,
                subject_key=blind_digests(f"erasure:{old.user_id}")[0],
                requested_at=old.requested_at,
                look_at=now + timedelta(days=14),
                due_at=old.requested_at + timedelta(days=30),
            )
        requests.filter(pk=old.pk).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('identity', '0011_staff_identities'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='erased_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('subject_key', models.CharField(db_index=True, editable=False, max_length=64)),
                ('status', models.CharField(choices=[('requested', 'requested'), ('waiting', 'waiting'), ('done', 'done')], default='requested', max_length=16)),
                ('requested_at', models.DateTimeField()),
                ('look_at', models.DateTimeField()),
                ('due_at', models.DateTimeField()),
                ('kept', models.JSONField(default=list)),
                ('completed_at', models.DateTimeField(null=True)),
                ('account', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='erasure', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
                'indexes': [models.Index(condition=models.Q(('status', 'done'), _negated=True), fields=['look_at'], name='identity_erasure_due')],
                'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ('requested', 'waiting', 'done'))), name='identity_erasure_status_known')],
            },
        ),
        migrations.RunPython(carry_over, migrations.RunPython.noop),
    ]
