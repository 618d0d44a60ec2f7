"""Erase and export mails. The blind index of the recipient finds the mails to an account."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import ManyToOneRel, Q, QuerySet

from config.core.encryption import readable
from config.core.export import UNREADABLE
from config.core.json_text import render_json
from config.core.privacy import all_rows, register
from config.core.registration import declared
from config.mail.addresses import comparable
from config.mail.models import FAILED, PENDING, OutgoingMail
from config.mail.outbox import index_of


def erase_mails(user_id: int, *, now: datetime) -> None:  # noqa: ARG001  erasure steps have this signature
    """Delete the recipient and the content of the mails to an account.

    Unsent notices stay, because the law requires their delivery.
    """
    mails = OutgoingMail.objects.all()
    for rows, column in _referring():
        mails = mails.exclude(pk__in=rows.values(column), status=PENDING)
    for mail in _to_account(mails, user_id):
        if mail.status == PENDING:
            mail.status, mail.due_at = FAILED, None
        mail.recipient = mail.context = mail.recipient_index = ""
        mail.save(update_fields=["recipient", "recipient_index", "context", "status", "due_at"])


def mails_to(user_id: int) -> Iterator[tuple[str, bytes, str]]:
    """Yield the mails to an account as files for the account's export, without links."""
    for mail in _to_account(OutgoingMail.objects.order_by("pk"), user_id, is_export=True):
        names = ("template", "language", "status", "created_at")
        content = {"recipient": _recipient_of(mail), **{name: getattr(mail, name) for name in names}}
        yield f"mails/{mail.pk}.json", render_json(content), OutgoingMail._meta.label


def _to_account(mails: QuerySet[OutgoingMail], user_id: int, *, is_export: bool = False) -> Iterator[OutgoingMail]:
    """Yield the mails to an account's addresses, and mails that the account's records reference, such as notices.

    An export excludes notices to another applicant.
    """
    addresses = {comparable(address) for find in declared("mail_addresses") for address in find(user_id)}
    of_records: set[Any] = set()
    for rows, column in _referring():
        declaration = register()[rows.model._meta.label]
        if declaration.subject:
            own = rows.filter(declaration.exported) if is_export else rows
            of_records.update(own.filter(**{declaration.subject: user_id}).values_list(column, flat=True))
    digests = [digest for address in addresses for digest in index_of(address)]
    # Mails from version 1.0 have no index, so they are decrypted and compared.
    is_possible = Q(recipient_index__in=digests) | Q(pk__in=of_records)
    if addresses:
        is_possible |= Q(recipient_index__isnull=True)
    for mail in mails.filter(is_possible).iterator():
        if mail.pk in of_records or comparable(_recipient_of(mail)) in addresses:
            yield mail


def index_recipients() -> int:
    """Recompute the blind index of all mails with the first key. Return the number of changed mails."""
    changed = 0
    for mail in OutgoingMail.objects.exclude(recipient_index="").order_by("pk").iterator():
        recipient = _recipient_of(mail)
        if recipient != UNREADABLE and mail.recipient_index != (index := index_of(recipient)[0]):
            changed += OutgoingMail.objects.filter(pk=mail.pk).update(recipient_index=index)
    return changed


def _referring() -> Iterator[tuple[QuerySet[Any], str]]:
    """Yield the rows and the reference column of each table that references mails."""
    for relation in OutgoingMail._meta.get_fields(include_hidden=True):
        if isinstance(relation, ManyToOneRel):
            column = relation.field.attname
            yield all_rows(relation.related_model).filter(**{f"{column}__isnull": False}), column


def _recipient_of(mail: OutgoingMail) -> str:
    return str(readable(lambda: mail.recipient, UNREADABLE))
