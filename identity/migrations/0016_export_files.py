"""The file of an export, and the worker that makes it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('identity', '0015_exports'),
    ]

    operations = [
        migrations.AddField(
            model_name='export',
            name='claimed_until',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='export',
            name='name',
            field=models.CharField(editable=False, max_length=100, null=True),
        ),
    ]
