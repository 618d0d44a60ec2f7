"""Erasure of mails: addresses are encrypted, so they are compared after decryption."""

from datetime import datetime

from django.db.models import ManyToOneRel

from config.core.encryption import UnreadableSecret
from config.core.privacy import all_rows
from config.core.registration import declared
from config.mail.addresses import comparable
from config.mail.models import FAILED, PENDING, OutgoingMail


def erase_mails(user_id: int, *, now: datetime) -> None:  # noqa: ARG001  the signature of erasure steps
    """Empty the mails to an account's addresses. Unsent notices stay: the law requires that they arrive."""
    addresses = {comparable(address) for find in declared("mail_addresses") for address in find(user_id)}
    mails = OutgoingMail.objects.all()
    for relation in OutgoingMail._meta.get_fields(include_hidden=True):
        if isinstance(relation, ManyToOneRel):
            column = relation.field.attname
            referring = all_rows(relation.related_model).filter(**{f"{column}__isnull": False})
            mails = mails.exclude(pk__in=referring.values(column), status=PENDING)
    for mail in mails.iterator():
        try:
            is_theirs = comparable(mail.recipient) in addresses
        except UnreadableSecret:
            continue
        if is_theirs:
            if mail.status == PENDING:
                mail.status, mail.due_at = FAILED, None
            mail.recipient = mail.context = ""
            mail.save(update_fields=["recipient", "context", "status", "due_at"])
