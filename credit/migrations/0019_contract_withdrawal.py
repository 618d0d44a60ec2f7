import django.db.models.deletion
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models

import config.core.json_text
from config.core.append_only import AppendOnly
from config.core.groups import OPERATIONS, REVIEWER, SUPPORT, GrantToGroups


class Migration(migrations.Migration):

    dependencies = [
        ('credit', '0018_version_certificate'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='acceptance',
            name='members',
            field=config.core.json_text.JsonTextField(null=True),
        ),
        migrations.AddField(
            model_name='application',
            name='complete_since',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='application',
            name='told_of_right_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='application',
            name='withdrawn_from_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.CreateModel(
            name='ContractWithdrawal',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('credential', models.CharField(max_length=80)),
                ('declared_at', models.DateTimeField()),
                ('received_at', models.DateTimeField()),
                ('channel', models.CharField(choices=[('portal', 'portal'), ('api', 'api'), ('email', 'email'), ('post', 'post'), ('in_person', 'in_person')], max_length=16)),
                ('period_ends_at', models.DateTimeField(null=True)),
                ('repay_by', models.DateField()),
                ('interest_a_day_cents', models.BigIntegerField(null=True)),
                ('application', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='contract_withdrawal', to='credit.application')),
                ('principal', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
                'abstract': False,
            },
        ),
        AppendOnly("credit_contractwithdrawal"),
        GrantToGroups("credit", {
            "contractwithdrawal": {REVIEWER: ["view"], SUPPORT: ["view"], OPERATIONS: ["view"]},
        }),
    ]
