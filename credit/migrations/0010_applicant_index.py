"""Index the applicants that are stored. What a server of the version before stores meanwhile, `prune` indexes."""

from typing import Any

from django.db import migrations, models

from credit.core.applicant_search import index_rows


def index_applicants(apps: Any, schema_editor: Any) -> None:
    index_rows(apps.get_model("credit", "Application").objects.using(schema_editor.connection.alias))


class Migration(migrations.Migration):
    dependencies = [("credit", "0009_offer_search_words")]

    operations = [
        migrations.AddField(
            model_name="application",
            name="applicant_index",
            field=models.TextField(editable=False, null=True),
        ),
        migrations.RunPython(index_applicants, migrations.RunPython.noop),
    ]
