"""Mail the applicant after a decision or before a pending step. The mail contains a link but no details."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model

from config.core.prepared import PreparedSelect
from config.mail.outbox import queue_mail
from credit.core.applicants import language_of
from credit.models.notices import EMAIL, Consent


def mail_applicant(application: Any, *, now: datetime) -> None:
    """Mail the applicant's confirmed address that the application was decided, or waits for the applicant.

    Applicants who consented to electronic notices get the mail about the notice instead. If the notice can't be created
    yet, `issue_notices` sends this mail.
    """
    if not (EMAIL in settings.NOTICE_CHANNELS and Consent.is_given_by(application.consumer_id)):
        queue_applicant_mail(application, now=now)


def queue_applicant_mail(application: Any, *, now: datetime) -> None:
    row = _confirmed_address.first(user_id=application.consumer_id)
    if row is not None:
        [address] = row
        link = f"{settings.APP_URL}/my/applications/{application.pk}"
        queue_mail(address, "application", {"link": link}, language=language_of(application.applicants), now=now)


_confirmed_address = PreparedSelect(
    lambda user_id: get_user_model().objects.filter(
        pk=user_id, is_active=True, wants_mail=True, emailaddress__primary=True, emailaddress__verified=True
    )[:1],
    ("emailaddress__email",),
)
