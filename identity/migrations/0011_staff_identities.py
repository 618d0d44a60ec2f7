import django.db.models.deletion
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('identity', '0010_bank_balance_day'),
    ]

    operations = [
        migrations.CreateModel(
            name='StaffIdentity',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('issuer', models.CharField(max_length=500)),
                ('subject', models.CharField(max_length=255)),
                ('created_at', models.DateTimeField()),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='staff_identities', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'staff identities',
                'constraints': [
                    models.UniqueConstraint(fields=('issuer', 'subject'), name='identity_staff_subject'),
                    models.UniqueConstraint(fields=('issuer', 'user'), name='identity_staff_account'),
                ],
            },
        ),
        migrations.CreateModel(
            name='IssuerSession',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('sid', models.CharField(blank=True, default='', help_text="The issuer's id of the session.", max_length=255)),
                ('began_at', models.DateTimeField(db_index=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('identity', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sessions', to='identity.staffidentity')),
            ],
            options={
                'indexes': [models.Index(fields=['sid'], name='identity_issuer_session_sid')],
            },
        ),
    ]
