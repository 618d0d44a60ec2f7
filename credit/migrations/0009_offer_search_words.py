"""Fold the words by which offers are found. A server of the version before finds what has no accents as before."""

from typing import Any

from django.db import migrations

from config.core.search_words import as_column, words_of


def fold_words(apps: Any, schema_editor: Any) -> None:
    offers = apps.get_model("credit", "Offer").objects.using(schema_editor.connection.alias)
    fields = ("name", "description", "product_type", "provider_id", "search_words")
    for offer in offers.only(*fields).iterator(chunk_size=500):
        text = f"{offer.name} {offer.description} {offer.product_type} {offer.provider_id}"
        column = as_column(words_of(text))
        if column != offer.search_words:
            # A server that changes the offer meanwhile writes the words itself.
            offers.filter(pk=offer.pk, search_words=offer.search_words).update(search_words=column)


class Migration(migrations.Migration):
    dependencies = [("credit", "0008_offer_min_age")]
    changes = ["credit_offer.search_words"]

    operations = [migrations.RunPython(fold_words, migrations.RunPython.noop)]
