import django.db.models.deletion
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models

from config.core.append_only import AppendOnly
from config.core.groups import OPERATIONS, REVIEWER, SUPPORT, GrantToGroups


class Migration(migrations.Migration):

    dependencies = [
        ('credit', '0006_risk_based_pricing'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RetentionHold',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('is_on', models.BooleanField()),
                ('reason', models.CharField(max_length=500)),
                ('at', models.DateTimeField()),
                ('credential', models.CharField(max_length=80)),
                ('application', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='holds', to='credit.application')),
                ('principal', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
                'indexes': [models.Index(fields=['application', '-id'], name='credit_hold_newest')],
            },
        ),
        AppendOnly("credit_retentionhold"),
        GrantToGroups("credit", {"retentionhold": {OPERATIONS: ["add", "view"], REVIEWER: ["view"], SUPPORT: ["view"]}}),
    ]
