"""Exports: copies of a person's data."""

import django.db.models.deletion
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models

import config.core.encryption


class Migration(migrations.Migration):

    dependencies = [
        ('identity', '0014_consents'),
    ]

    operations = [
        migrations.CreateModel(
            name='Export',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('status', models.CharField(choices=[('preparing', 'preparing'), ('ready', 'ready'), ('expired', 'expired'), ('failed', 'failed')], default='preparing', max_length=16)),
                ('key', config.core.encryption.EncryptedTextField(default='', editable=False)),
                ('created_at', models.DateTimeField()),
                ('ready_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='exports', to=settings.AUTH_USER_MODEL)),
                ('requested_by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
                'indexes': [models.Index(fields=['account', '-id'], name='identity_export_newest'), models.Index(condition=models.Q(('status__in', ('preparing', 'ready'))), fields=['status', 'id'], name='identity_export_due')],
                'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ('preparing', 'ready', 'expired', 'failed'))), name='identity_export_status_known')],
            },
        ),
    ]
