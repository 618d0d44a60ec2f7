"""The consents that exist: to electronic notices, and to share data with a lender."""

from itertools import islice

from django.db import migrations
from django.db.models import OuterRef, Subquery

CHUNK_ROWS = 500


def store_existing(apps, schema_editor):
    alias = schema_editor.connection.alias
    consents = apps.get_model("identity", "Consent").objects.using(alias)
    notices = apps.get_model("credit", "Consent").objects.using(alias)
    newest = notices.filter(user=OuterRef("user")).order_by("-id").values("id")[:1]
    agreed = notices.filter(pk=Subquery(newest), is_given=True).defer("text")
    applications = apps.get_model("credit", "Application").objects.using(alias)
    sharing = applications.filter(submitted_at__isnull=False).exclude(share=[])
    columns = ("consumer_id", "provider_id", "share", "submitted_at")

    def rows():
        for consent in agreed.iterator(chunk_size=CHUNK_ROWS):
            about = "notices about applications"
            yield consent.user_id, "electronic_notices", consent.pk, about, consent.at, consent.text_sha256
        for each in sharing.only(*columns).iterator(chunk_size=CHUNK_ROWS):
            about = f"{each.pk}: {', '.join(each.share)} to lender {each.provider_id}"
            yield each.consumer_id, "lender_sharing", each.pk, about, each.submitted_at, None

    names = ("account_id", "kind", "reference", "scope", "given_at", "text_sha256")
    models_of_rows = (consents.model(**dict(zip(names, row, strict=True))) for row in rows())
    while chunk := list(islice(models_of_rows, CHUNK_ROWS)):
        consents.bulk_create(chunk)


class Migration(migrations.Migration):

    dependencies = [
        ('credit', '0020_notice_kind'),
        ('identity', '0014_consents'),
    ]

    operations = [
        migrations.RunPython(store_existing, migrations.RunPython.noop),
    ]
