"""JSON documents in the database, kept as the text they were."""

from typing import Any

import orjson
from django.db import models


def canonical_json(document: Any) -> bytes:
    """Return the one spelling of a document that hashes are made of: compact UTF-8, keys sorted."""
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


class DocumentField(models.TextField):  # type: ignore[type-arg]
    """A JSON document as text.

    PostgreSQL's `jsonb` reorders keys and rewrites numbers (`1e300` comes back with 301 digits), which for a document
    that people sign or hash is a change. Nothing here is searched by content, so text loses nothing. None is NULL.
    """

    def get_prep_value(self, value: Any) -> Any:
        """Return the text to store."""
        return None if value is None else orjson.dumps(value).decode()

    def from_db_value(self, value: str | None, _expression: Any, _connection: Any) -> Any:
        """Return the stored document."""
        return None if value is None else orjson.loads(value)

    def to_python(self, value: Any) -> Any:
        """Return the document as it is: forms do not edit it."""
        return value

    def value_to_string(self, obj: Any) -> str:
        """Return the text for serialisers of whole tables."""
        return str(self.get_prep_value(self.value_from_object(obj)))
