"""The register of personal data: the data subject and the kind of erasure for every field of every table.

Each app declares its tables, and the tables of its dependencies, in `privacy.py` (`personal_data` of the AppConfig).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models import Q

from config.core.registration import declared

# An erasure sets a field to null, replaces it with an empty or random value, or deletes the row.
NULL, REPLACE, DELETE_ROW = "null", "replace", "delete_row"

CONTRACT = "contract: Article 6(1)(b)"
CONSENT = "consent: Article 6(1)(a)"
LEGAL_OBLIGATION = "legal obligation: Article 6(1)(c)"
LEGITIMATE_INTEREST = "legitimate interest: Article 6(1)(f)"

THE_PERSON = "the person, and their use of the account"
EVERY_ROW = Q()


@dataclass(frozen=True, slots=True)
class Keep:
    """A ground (a reason, such as a law) to retain personal data after an erasure.

    `rule` describes the records and their retention. `law` cites the laws.
    """

    ground: str
    rule: str
    law: str = ""
    is_permanent: bool = False  # True if issued proofs require the values forever


AUDIT_LOG = Keep(
    "audit_log",
    "history of the account: 5 years from the erasure, for legal claims",
    "15 U.S.C. 1691e(f); GDPR Article 17(3)(e)",
)


@dataclass(frozen=True, slots=True)
class Treatment:
    """The kind of a field (`personal`, `about_staff`, or `none`), and the treatment of personal data in it."""

    kind: str
    erase: str = ""
    keep: Keep | None = None
    is_masked: bool = False  # True if viewers without permission for personal data see a mask in the back office
    is_secret: bool = False  # True for passwords, tokens, and hashes, which exports exclude
    is_exported: bool = True


Fields = dict[str, Treatment]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The declaration of a table. `subject` is the lookup from a row to the ID of its data subject.

    `exported` excludes rows about another applicant from a copy of the data. A partner's copy also excludes tables with
    `only_subject`. `kept_by` is the lookup to the record on which a `Keep` depends, or empty for the account. With
    `by_value`, rows have no lookup to their subject, and a step of the app erases them.
    """

    fields: Fields
    subject: str = ""
    purpose: str = ""
    ground: str = CONTRACT
    retention: str = "until the account is erased"
    kept_by: str = ""
    by_value: bool = False
    source: str = THE_PERSON
    recipients: str = "none outside of the operator"
    exported: Q = EVERY_ROW
    only_subject: bool = False


def personal(
    *names: str,
    erase: str = NULL,
    keep: Keep | None = None,
    masked: bool = True,
    secret: bool = False,
    exported: bool = True,
) -> Fields:
    """Declare fields with personal data of the table's subject, and how to erase these fields."""
    return dict.fromkeys(
        names, Treatment("personal", erase, keep, masked and not secret, secret, exported and not secret)
    )


def about_staff(*names: str) -> Fields:
    """Declare fields that identify the reviewer, member, or operator who acted."""
    return dict.fromkeys(names, Treatment("about_staff"))


def none(*names: str) -> Fields:
    """Declare fields without personal data: ids, references, times, statuses, and hashes."""
    return dict.fromkeys(names, Treatment("none"))


def table(*groups: Fields, **options: Any) -> Table:
    """Declare a table from groups of fields and other attributes of `Table`.

    Raises ValueError if two groups contain the same field.
    """
    fields: Fields = {}
    for group in groups:
        if twice := fields.keys() & group.keys():
            raise ValueError(f"Declared twice: {', '.join(sorted(twice))}.")
        fields |= group
    return Table(fields=fields, **options)


@cache
def register() -> Mapping[str, Table]:
    """Return every declared table by the label of its model, such as `credit.Application`."""
    return dict(declared("personal_data"))


def tables_of(user_id: int) -> Iterator[tuple[str, Table, Any]]:
    """Yield `(label, declaration, rows of the account)` for each table with a lookup to its subject."""
    for label, declaration in register().items():
        if declaration.subject and not declaration.by_value:
            yield label, declaration, all_rows(apps.get_model(label)).filter(**{declaration.subject: user_id})


def personal_fields(model: type[models.Model]) -> Fields:
    """Return a model's fields with personal data. If the model has no declaration, the result is empty."""
    declaration = register().get(model._meta.label)
    fields = {} if declaration is None else declaration.fields
    return {name: treatment for name, treatment in fields.items() if treatment.kind == "personal"}


def masked_fields(model: type[models.Model]) -> tuple[str, ...]:
    return tuple(name for name, treatment in personal_fields(model).items() if treatment.is_masked)


def all_rows(model: Any) -> Any:
    """Select every row of a table, including rows that the model's own manager excludes."""
    return models.QuerySet(model)


def of_erased_accounts(rows: Any) -> Any:
    """Select the rows of erased accounts. The operator retains these rows because a law requires it."""
    declaration = register().get(rows.model._meta.label)
    if declaration is None or not declaration.subject or declaration.by_value:
        return rows.none()
    to_account = "" if declaration.subject == "pk" else f"{declaration.subject}__"
    return rows.filter(**{f"{to_account}erased_at__isnull": False})


def erased_among(rows: Sequence[Any]) -> set[Any]:
    """Return the keys of the rows whose account is erased. Loaded accounts are not queried again."""
    accounts = [_loaded_account(row) for row in rows]
    if all(account is not None for account in accounts):
        return {row.pk for row, account in zip(rows, accounts, strict=True) if account.erased_at is not None}
    stored = all_rows(type(rows[0])).filter(pk__in=[row.pk for row in rows])
    return set(of_erased_accounts(stored).values_list("pk", flat=True))


def _loaded_account(row: Any) -> Any:
    declaration = register().get(row._meta.label)
    path = "" if declaration is None else declaration.subject
    for name in path.split("__") if path != "pk" else ():
        field = row._meta.get_field(name) if name and row is not None else None
        if field is None or not field.is_relation or not field.is_cached(row):
            return None
        row = getattr(row, name)
    return row if row is not None and "erased_at" in row.__dict__ else None


def record_of_processing(*, with_all: bool) -> Iterator[dict[str, Any]]:
    """Yield each personal field with its subject, purpose, ground, and retention (GDPR Article 30).

    If `with_all` is True, this also yields the fields without personal data, and the fields about staff.
    """
    for label, declaration in sorted(register().items()):
        for name, treatment in declaration.fields.items():
            if treatment.kind != "personal":
                if with_all:
                    yield {"field": f"{label}.{name}", "kind": treatment.kind}
                continue
            keep = treatment.keep
            kept = () if keep is None else (keep.rule, keep.law)
            yield {
                "field": f"{label}.{name}",
                "kind": treatment.kind,
                "subject": declaration.subject,
                "purpose": declaration.purpose,
                "ground": declaration.ground,
                "retention": "; ".join(filter(None, (declaration.retention, *kept))),
                "erase": treatment.erase,
                "keep": None if keep is None else keep.ground,
            }
