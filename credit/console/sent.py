"""The applicant's data on the case page: by the titles of the offer's schema, and the applicants."""

import json
from collections.abc import Mapping
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.backoffice.html import NOTHING, document, table
from config.backoffice.personal import MASK
from config.core.encryption import UnreadableSecret
from credit.core import profile
from credit.core.applicant_schema import PATHS, title_of_member, value_at
from credit.core.figures import money
from credit.requirements.services import requirements_of


def data_shown(application: Any) -> SafeString | str:
    """Return the data as titles and values where the offer has a schema, and as JSON what no schema asks for."""
    data = application.application_data
    members = requirements_of(application).members if isinstance(data, dict) else {}
    if not members:
        return document(data)
    rows = [(profile.title_of(name, one), _formatted(name, one, data.get(name))) for name, one in members.items()]
    rest = {name: value for name, value in data.items() if name not in members}
    return format_html("{}{}", table(rows), document(rest) if rest else "")


def _formatted(name: str, member: Mapping[str, Any], value: Any) -> str:
    """Return a value as people read it; one of another type than the schema's as it is."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    if profile.fault({"type": member["type"]}, value) is not None:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return money(int(value)) if name.endswith("_cents") and value == int(value) else f"{value:,}"


def applicants_shown(application: Any) -> SafeString | str:
    """Return the applicants, a table each; a mask for viewers who may not see them."""
    try:
        persons = application.applicants
    except UnreadableSecret:
        return "They cannot be read: none of the keys in FIELD_ENCRYPTION_KEYS opens them."
    if persons is None:
        return "Erased; the hash stays." if application.applicants_sha256 else NOTHING
    if getattr(application, "is_masked", False):
        return MASK
    tables = [
        table((title_of_member(path), value) for path in PATHS if (value := value_at(person, path)) is not None)
        for person in persons
    ]
    return format_html("{}" * len(tables), *tables)
