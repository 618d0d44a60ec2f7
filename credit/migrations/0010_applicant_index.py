"""The blind index of applicants. `prune` fills it for stored applications, and for what the version before stores."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("credit", "0009_offer_search_words")]

    operations = [
        migrations.AddField(
            model_name="application",
            name="applicant_index",
            field=models.TextField(editable=False, null=True),
        ),
    ]
