"""The copy of an account's data (GDPR Articles 15 and 20): a ZIP file with one JSON file per table of the register.

Tables are read row by row, so that memory use does not grow with the export. Passwords, tokens, and fields about staff
are excluded.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.conf import settings
from django.db import models

from config.core.encryption import readable
from config.core.erasure import CHUNK_ROWS, kept_rows
from config.core.json_text import render_json
from config.core.privacy import CONSENT, CONTRACT, THE_PERSON, Table, register, tables_of
from config.core.registration import declared

UNREADABLE = "unreadable: no key decrypts this value"


def write_export(user_id: int, file: Any, *, now: datetime, is_for_partner: bool = False) -> dict[str, int]:
    """Write the ZIP file of an account to `file`. Return the numbers of tables, rows, and other files.

    A partner's copy excludes credit reports and reviewers' notes.
    """
    counts = {"tables": 0, "rows": 0, "files": 0}
    contents = []
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        left_out = {label for label, table in register().items() if is_for_partner and table.only_subject}
        rules = dict(declared("export_values"))
        for label, declaration, rows in tables_of(user_id):
            name, names = f"records/{label}.json", _exported(declaration)
            if not names or label in left_out:
                continue
            copied = rows.filter(declaration.exported).order_by("pk")
            rule = partial(rules[label], is_for_partner=is_for_partner) if label in rules else None
            number = _write_rows(archive, name, _values(copied, names, rule))
            if number:
                contents.append({"file": name, "rows": number, **_described(declaration)})
                counts["tables"] += 1
                counts["rows"] += number
        for part in declared("export_parts"):
            for name, content, label in part(user_id):
                if label in left_out:
                    continue
                archive.writestr(name, content)
                contents.append({"file": name, **_described(register()[label])})
                counts["files"] += 1
        archive.writestr("index.json", render_json(_index(user_id, contents, now=now)))
    return counts


def _exported(declaration: Table) -> list[str]:
    """Return the names of the exported fields, or no names for a table with only secret personal fields."""
    fields = declaration.fields.items()
    if not any(treatment.kind == "personal" and treatment.is_exported for _name, treatment in fields):
        return []
    return [name for name, treatment in fields if treatment.kind != "about_staff" and treatment.is_exported]


def _write_rows(archive: ZipFile, name: str, rows: Iterator[dict[str, Any]]) -> int:
    number = 0
    for number, row in enumerate(rows, start=1):
        if number == 1:
            target = archive.open(name, "w")
        target.write((b"[" if number == 1 else b",\n") + render_json(row))
    if number:
        target.write(b"]\n")
        target.close()
    return number


def _values(rows: Any, names: list[str], rule: Callable[..., dict[str, Any]] | None) -> Iterator[dict[str, Any]]:
    for row in rows.iterator(chunk_size=CHUNK_ROWS):
        changed = rule(row) if rule else {}
        yield {name: changed[name] if name in changed else _value(row, name) for name in names}


def _value(row: models.Model, name: str) -> Any:
    field: Any = row._meta.get_field(name)
    value = readable(partial(field.value_from_object, row), UNREADABLE)
    if isinstance(value, bytes | memoryview):
        content = bytes(value)
        try:
            return content.decode()
        except UnicodeDecodeError:
            return b64encode(content).decode()
    if isinstance(value, str | int | float | bool | list | dict | datetime) or value is None:
        return value
    persons = getattr(value, "persons", None)  # applicants
    return str(value) if persons is None else persons


def _described(declaration: Table) -> dict[str, Any]:
    return {
        "purpose": declaration.purpose,
        "ground": declaration.ground,
        "source": declaration.source,
        "recipients": declaration.recipients,
        "retention": declaration.retention,
        "portable": declaration.source == THE_PERSON and declaration.ground in {CONTRACT, CONSENT},
    }


def _index(user_id: int, contents: list[dict[str, Any]], *, now: datetime) -> dict[str, Any]:
    """Return a list of the ZIP file's contents, and the information that Article 15(1) of the GDPR requires."""
    return {
        "controller": settings.PROVIDER_NAME,
        "user_id": str(user_id),
        "exported_at": now,
        "rights": "You can request rectification, erasure (/account/privacy), restriction, and object to processing. "
        "You can lodge a complaint with a supervisory authority (GDPR Article 77), and go to court (Article 79).",
        "portability": "Files with `portable` contain what you provided (GDPR Article 20). Other files, such as "
        "scores, are part of your access to data (Article 15).",
        "kept_after_erasure": [each.to_dict() for each in kept_rows(user_id, now=now)],
        "automated_decisions": "If an offer uses a scoring model, records/credit.Score.json has the points of each "
        "characteristic, and the reasons.",
        "contents": contents,
    }
