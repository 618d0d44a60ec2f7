"""The blind index of recipients; null for the mails of version 1.0."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('mail', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='outgoingmail',
            name='recipient_index',
            field=models.CharField(editable=False, max_length=64, null=True),
        ),
    ]
