"""Links to an EU agreement for borrowers without an account (Directive (EU) 2023/2225, Art. 21(1))."""

from datetime import datetime, timedelta

from django.conf import settings
from django.core import signing

from config.core.errors import NotFound
from config.core.ids import get_by_uuid
from config.mail.outbox import queue_mail
from credit.core.applicants import other_borrowers
from credit.models import Application
from credit.terms.agreement import Agreement, agreement_of

LINK_LIVES = timedelta(days=90)
_signer = signing.TimestampSigner(salt="credit.agreement")


def mail_links(application: Application, *, now: datetime) -> None:
    """Mail the agreement's link to each borrower but the first, who has the account."""
    link = f"{settings.APP_URL}/my/agreement/{_signer.sign(str(application.pk))}"
    for email, language in other_borrowers(application.applicants):
        queue_mail(email, "agreement", {"link": link}, language=language, now=now)


def agreement_of_link(token: str) -> Agreement:
    """Return the agreement of a link that `mail_links` mailed; raises NotFound for an altered or expired link."""
    try:
        application_id = _signer.unsign(token, max_age=LINK_LIVES)
    except signing.BadSignature as error:
        raise NotFound from error
    return agreement_of(get_by_uuid(Application.objects.all(), application_id, NotFound))
