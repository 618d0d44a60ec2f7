"""Erasure and export of mails: addresses are encrypted, so they are compared after decryption."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import ManyToOneRel, QuerySet

from config.core.encryption import UnreadableSecret
from config.core.json_text import render_json
from config.core.privacy import all_rows
from config.core.registration import declared
from config.mail.addresses import comparable
from config.mail.models import FAILED, PENDING, OutgoingMail


def erase_mails(user_id: int, *, now: datetime) -> None:  # noqa: ARG001  the signature of erasure steps
    """Empty the mails to an account's addresses. Unsent notices stay: the law requires that they arrive."""
    mails = OutgoingMail.objects.all()
    for relation in OutgoingMail._meta.get_fields(include_hidden=True):
        if isinstance(relation, ManyToOneRel):
            column = relation.field.attname
            referring = all_rows(relation.related_model).filter(**{f"{column}__isnull": False})
            mails = mails.exclude(pk__in=referring.values(column), status=PENDING)
    for mail in _to_account(mails, user_id):
        if mail.status == PENDING:
            mail.status, mail.due_at = FAILED, None
        mail.recipient = mail.context = ""
        mail.save(update_fields=["recipient", "context", "status", "due_at"])


def mails_to(user_id: int) -> Iterator[tuple[str, bytes, str]]:
    """Yield the mails to an account's addresses for the copy of its data, without the links that they contain."""
    for mail in _to_account(OutgoingMail.objects.order_by("pk"), user_id):
        names = ("recipient", "template", "language", "status", "created_at")
        content = render_json({name: getattr(mail, name) for name in names})
        yield f"mails/{mail.pk}.json", content, OutgoingMail._meta.label


def _to_account(mails: QuerySet[OutgoingMail], user_id: int) -> Iterator[OutgoingMail]:
    addresses = {comparable(address) for find in declared("mail_addresses") for address in find(user_id)}
    for mail in mails.iterator():
        try:
            is_theirs = comparable(mail.recipient) in addresses
        except UnreadableSecret:
            continue
        if is_theirs:
            yield mail
