"""Index mails by recipient, while mails are sent."""

from django.db import migrations, models

from config.core.indexes import AddIndexWithoutLock


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ('mail', '0002_recipient_index'),
    ]

    operations = [
        AddIndexWithoutLock(
            model_name='outgoingmail',
            index=models.Index(fields=['recipient_index'], name='mail_outgoing_recipient'),
        ),
    ]
