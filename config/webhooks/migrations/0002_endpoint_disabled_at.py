from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("webhooks", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="endpoint",
            name="disabled_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
