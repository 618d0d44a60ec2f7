"""Providing the European information form to each borrower (Directive (EU) 2023/2225, Art. 10)."""

from datetime import datetime, timedelta

from django.conf import settings
from django.core import signing
from django.db import transaction

from config.core.errors import NotFound
from config.core.ids import get_by_uuid
from config.mail.outbox import queue_mail
from credit.core.applicants import other_borrowers
from credit.models import Application, Precontract
from credit.terms.acceptance import form_to_read

LINK_LIVES = timedelta(days=90)
_signer = signing.TimestampSigner(salt="credit.information-form")


def provide(application: Application, form: Precontract, *, medium: str, is_opened: bool, now: datetime) -> None:
    """Store that the applicant received a form. For the first form of its terms, mail the other borrowers a link."""
    is_first = not Precontract.objects.filter(
        application=application, terms_sha256=form.terms_sha256, provided_at__isnull=False
    ).exists()
    with transaction.atomic():
        form.note_provision(medium, is_opened=is_opened, now=now)
        for email, language in other_borrowers(application.applicants) if is_first else ():
            theirs = form_to_read(application, language=language, now=now)
            link = f"{settings.APP_URL}/my/information/{_signer.sign(str(theirs.pk))}"
            queue_mail(email, "information", {"link": link}, language=language, now=now)


def form_of_link(token: str) -> Precontract:
    """Return the form of a link that `provide` mailed; raises NotFound for an altered or expired link."""
    try:
        form_id = _signer.unsign(token, max_age=LINK_LIVES)
    except signing.BadSignature as error:
        raise NotFound from error
    return get_by_uuid(Precontract.objects.filter(html__isnull=False), form_id, NotFound)
