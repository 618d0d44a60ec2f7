"""Confirm values of an application with its documents."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model

from config.core.errors import ApiError, ValidationFailed
from config.core.ids import get_by_uuid
from config.core.json_text import canonical_json
from config.core.lifecycle import Actor, RecordNotEditable, ReviewerRequired
from credit.applications.services import load_for
from credit.core.machine import DRAFT, FROZEN
from credit.models import Application, Confirmation, DocumentFile, ProviderMember
from credit.models.applications import REVIEW_PERMISSION, record_application_event


def load_for_facts(application_id: str, actor: Actor) -> Application:
    """Lock and return an application to which `actor` can add facts as a reviewer.

    Raises the errors of `load_for`, and SecondFactorRequired. Raises ReviewerRequired for the applicant and for other
    accounts that are not reviewers. Raises RecordNotEditable for a draft, and for a decided or closed application.
    """
    visible = load_for(application_id, actor)
    application = Application.objects.select_for_update().get(pk=visible.pk)
    if application.consumer_id == actor.user.pk:
        raise ReviewerRequired("You can't add facts to your own application.")
    if refusal := application.check_reviewer(actor):
        raise refusal
    if application.status == DRAFT or application.status in FROZEN:
        raise RecordNotEditable
    return application


def confirm(
    application_id: str, *, pointer: str, value: Any, file_id: str, actor: Actor, now: datetime
) -> Confirmation:
    """Store that a file of the application shows a value at a pointer below `application_data`.

    The latest confirmation of a pointer applies. Raises the errors of `load_for_facts`. Raises ReviewerRequired if the
    actor is the only reviewer under `four_eyes`. Raises ValidationFailed if the application has no such stored file.
    """
    application = load_for_facts(application_id, actor)
    if refusal := only_reviewer(application, actor):
        raise refusal
    missing = ValidationFailed.of_member("file_id", "Must be the id of a file in a document of the application.")
    file = get_by_uuid(DocumentFile.uploaded_for(application), file_id, missing)
    confirmation = Confirmation.objects.create(
        application=application,
        pointer=pointer,
        value=canonical_json(value).decode(),
        file=file,
        confirmed_by=actor.user,
        confirmed_at=now,
    )
    record_application_event("updated", application, now=now)
    return confirmation


def only_reviewer(application: Application, actor: Actor) -> ApiError | None:
    """Return an error if `four_eyes` applies and no other account can review the application, otherwise None."""
    if settings.REVIEW_POLICY != "four_eyes":
        return None
    these = [actor.user.pk, application.consumer_id]
    accounts: Any = get_user_model()._default_manager
    members = ProviderMember.objects.filter(
        provider=str(application.provider_id),
        provider__created_at__lte=application.created_at,
        role__in=ProviderMember.DECIDING,
        user__is_active=True,
    )
    others = accounts.with_perm(REVIEW_PERMISSION).exclude(pk__in=these)
    if others.exists() or members.exclude(user__in=these).exists():
        return None
    return ReviewerRequired(
        "Under four-eyes approval, you can't confirm a figure if no other account can review the application."
    )
