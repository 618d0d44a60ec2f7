from django.db import migrations, models

from claims.doi import publication_key

BATCH = 1_000


def renew_keys(apps, schema_editor):
    """Compute the keys of publications again: more spellings of one publication are known now."""
    claims = apps.get_model("claims", "Claim").objects.using(schema_editor.connection.alias)
    last = None
    while True:
        page = claims.order_by("pk") if last is None else claims.order_by("pk").filter(pk__gt=last)
        rows = list(page.values_list("pk", "publication_id", "publication_key")[:BATCH])
        for pk, identifier, key in rows:
            if (renewed := publication_key(identifier)) != key:
                claims.filter(pk=pk).update(publication_key=renewed)
        if len(rows) < BATCH:
            return
        last = rows[-1][0]


class Migration(migrations.Migration):
    dependencies = [("claims", "0001_initial")]
    changes = ["claims_claim.publication_key"]

    operations = [
        migrations.AlterField(
            model_name="claim",
            name="publication_key",
            field=models.CharField(
                editable=False, help_text="The DOI or ISBN in its one spelling, or the identifier.", max_length=512
            ),
        ),
        migrations.RunPython(renew_keys, migrations.RunPython.noop),
    ]
