from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import CharField, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Cast
from django.utils import timezone

from config.core.casework import DataAccess
from config.core.encryption import sealed_values
from config.core.errors import ApiError, InvalidStatus
from config.core.ids import get_by_uuid, parse_uuid, uuid7
from config.core.json_text import canonical_json
from config.core.lifecycle import Actor, RecordNotEditable, SecondFactorRequired, Transition
from config.core.prepared import PreparedGet, PreparedSelect, insert, insert_all
from config.ops.failed_items import FailedItems
from credit.core.applicant_search import index_of, index_rows, out_of_date
from credit.core.applicants import Applicants, Person, changed_members
from credit.core.differences import differences
from credit.core.due import OFFER_ENDED, OfferRequirements
from credit.core.errors import ApplicationNotFound, OfferUnavailable, RequirementsDue
from credit.core.figures import Figures
from credit.core.machine import APPROVED, DRAFT, EXPIRED, FROZEN, INITIAL_STATUSES, PENDING_DOCUMENTS, WITHDRAWN
from credit.core.reasons import IDLE_TEXT
from credit.models import (
    Application,
    ApplicationRevision,
    Counteroffer,
    Notice,
    Offer,
    PartialApplicants,
    PersonKey,
    Provider,
    RequestedDocument,
)
from credit.models.applications import record_application_event
from identity.access.consents import CREDIT_REPORT, LENDER_SHARING, Consent, give_consent

# An application with this status expires after this number of days without a change.
IDLE_DAYS = {DRAFT: 30, PENDING_DOCUMENTS: 30, APPROVED: 30}
_EXPIRY_LEASE = timedelta(minutes=1)
# A change of these fields creates a revision if a value differs. A decision freezes them.
REVISED = frozenset({"application_data", "applicants"})


_PROVIDER_OWNER = Subquery(
    Application.provider_owner(Cast(OuterRef("provider_id"), CharField()), OuterRef("created_at")).values("owner_id")
)
_load_visible = PreparedGet(
    Application,
    lambda application_id, user_id: Application.objects.filter(
        Application.visible_to(user_id), pk=application_id
    ).annotate(provider_owner_id=_PROVIDER_OWNER),  # type: ignore[no-redef]  # replaces the query of the property
    annotations=("provider_owner_id",),
)
_find_offer = PreparedSelect(
    lambda offer_id: Offer.objects.filter(pk=offer_id), ("provider_id", "is_active", "required_documents"), parsed=True
).first


def select_own(columns: Sequence[str]) -> PreparedSelect:
    """Return a prepared query for the application `application_id` of the account `consumer_id`."""
    return PreparedSelect(
        lambda application_id, consumer_id: Application.objects.filter(pk=application_id, consumer_id=consumer_id),
        columns,
    )


def select_page(columns: Sequence[str], filters: Sequence[str], **annotations: Any) -> PreparedSelect:
    """Return a prepared query for a page of an account's applications, newest first."""

    def page(*, limit: int, offset: int, **conditions: Any) -> Any:
        # The subquery reads the IDs of the page from an index, so an offset skips index entries instead of rows.
        ids = Application.objects.filter(**conditions).order_by("-id").values("id")[offset : offset + limit]
        return Application.objects.filter(id__in=ids).order_by("-id").annotate(**annotations)

    return PreparedSelect(page, columns, arguments=("consumer_id", *filters, "limit", "offset"))


def load_visible(application_id: str, actor: Actor) -> Application:
    """Return the application with an ID from a URL.

    Raises ApplicationNotFound if `actor` can't read the application. Raises SecondFactorRequired if the application
    belongs to another account and the actor's second factor is missing.
    """
    identifier = parse_uuid(application_id)
    application = _load_visible(application_id=identifier, user_id=actor.user.pk) if identifier else None
    if application is None:
        raise ApplicationNotFound
    if application.consumer_id != actor.user.pk and actor.lacks_second_factor:
        raise SecondFactorRequired
    return application


def load_for(application_id: str, actor: Actor, *, is_noted: bool = True) -> Application:
    """Return the application with an ID from a URL, for reading. Raises the errors of `load_visible`.

    A scoped credential can read only the applications of its account and of the account's lenders, even if the account
    is a platform reviewer. Access to another account's application is recorded in the access log of personal data. With
    `is_noted=False`, the caller must call `note_reading` with details.
    """
    application = load_visible(application_id, actor)
    if application.consumer_id == actor.user.pk:
        return application
    if actor.limited and not application.is_sent_to(actor.user):
        raise ApplicationNotFound
    if is_noted:
        note_reading(application, actor.user)
    return application


def note_reading(application: Application, viewer: Any, **details: str) -> None:
    """Record in the access log of personal data that `viewer` read details of another account's application."""
    if application.consumer_id != viewer.pk:
        DataAccess.note(
            DataAccess.PAGE,
            viewer=viewer,
            kind=application._meta.label_lower,
            record_id=str(application.pk),
            subject_id=application.consumer_id,
            provider="" if viewer.is_staff else str(application.provider_id),
            details=details or None,
            now=timezone.now(),
        )


def lock_own(application_id: str, user: Any) -> Application:
    """Lock and return the user's own application. Raises ApplicationNotFound for other applications."""
    own = Application.objects.select_for_update().filter(consumer=user)
    return get_by_uuid(own, application_id, ApplicationNotFound)


def create_application(
    *,
    consumer_id: int,
    limited: bool = False,
    offer_id: int,
    provider_id: int,
    application_data: Any,
    applicants: list[Person] | None = None,
    share: Sequence[str] = (),
    initial_status: str | None,
    now: datetime,
) -> Application:
    """Create an application. `limited` is true for a scoped credential.

    A draft gets a checklist of the documents that the offer requires. Raises InvalidStatus if the initial status is
    reserved for reviewers. Scoped credentials can never set such a status. Raises OfferUnavailable for a closed offer.
    With REQUIRE_LISTED_OFFERS, an unlisted offer also raises OfferUnavailable. If reviewers decide, also raises
    OfferUnavailable for an offer of another lender. Raises RequirementsDue if a submitted application is incomplete.
    """
    status = initial_status or DRAFT
    if (limited or settings.REVIEW_POLICY != "open") and status not in INITIAL_STATUSES:
        raise InvalidStatus(f"`initial_status` must be {' or '.join(sorted(INITIAL_STATUSES))}.")
    documents = _check_offer(offer_id, provider_id)
    application = new_application(
        uuid7(), consumer_id, application_data, applicants, now, offer_id=offer_id, provider_id=provider_id,
        status=status, initial_status=status, share=list(share),
    )  # fmt: skip
    if status != DRAFT:
        application.submitted_at = now
        for name, value in pinned_offer(application).items():
            setattr(application, name, value)
    with transaction.atomic(savepoint=False):
        insert(application)
        if applicants is not None:
            insert_all(PersonKey.keys_of(application))
        if status == DRAFT and documents:
            RequestedDocument.put_on_checklist(application, documents, now=now)
        application.follow_creation(now)
    return application


def new_application(
    pk: UUID, consumer_id: int, data: Any, applicants: list[Person] | None, now: datetime, **columns: Any
) -> Application:
    """Return an unsaved application, with the columns that are computed from its data and applicants."""
    return Application(
        id=pk, consumer_id=consumer_id, data_changed_by_id=consumer_id, created_at=now, updated_at=now,
        application_data=data, amount_cents=Figures(data).amount_cents,
        **_applicant_columns(None if applicants is None else Applicants.of(applicants)), **columns,
    )  # fmt: skip


def _applicant_columns(persons: Applicants | None) -> dict[str, Any]:
    digest = None if persons is None else persons.sha256
    return {"applicants": persons, "applicants_sha256": digest, "applicant_index": index_of(persons, digest)}


_PINNED = ("provider_id", *Offer.TERMS)  # the order must be that of `Offer.terms`
_find_terms = PreparedSelect(
    lambda offer_id: Offer.objects.filter(pk=offer_id), ("is_active", "version", *_PINNED), parsed=True
).first


def pin_at_submission(application: Application, _transition: Transition) -> dict[str, Any]:
    """Return the columns that the first submission sets. Raises the errors of `pinned_offer`."""
    return pinned_offer(application) if application.submitted_at is None else {}


def pinned_offer(application: Application) -> dict[str, Any]:
    """Return the columns that store the current terms of a listed offer. For an unlisted offer, return no columns.

    Raises RequirementsDue if the offer is inactive, or if the application does not meet the offer's requirements. An
    unlisted offer requires a minimum age of 18.
    """
    pinned: dict[str, Any] = {}
    if (offer := _find_terms(offer_id=application.offer_id)) is not None:
        is_active, version, *terms = offer
        if not is_active:
            raise RequirementsDue.of_each([OFFER_ENDED])
        pinned = {"offer_version": version, "offer_snapshot": dict(zip(_PINNED, terms, strict=True))}
    if due := application.due(OfferRequirements.by(pinned.get("offer_snapshot"))):
        raise RequirementsDue.of_each(due)
    return pinned


def _check_offer(offer_id: int, provider_id: int) -> Sequence[str]:
    """Return the documents that the offer requires. Raises OfferUnavailable if the lender accepts no applications."""
    offer = _find_offer(offer_id=offer_id)
    if offer is None:
        if settings.REQUIRE_LISTED_OFFERS:
            raise OfferUnavailable(
                "The offer is not listed here. Send the `offer_id` of an active offer of this service."
            )
        _check_provider(provider_id)
        return ()
    offered_by, is_active, documents = offer
    if not is_active:
        raise OfferUnavailable
    if offered_by == str(provider_id):
        return documents or ()
    # With the ID of another lender, applicants could choose the members who review the application.
    if settings.REVIEW_POLICY != "open":
        raise OfferUnavailable("The offer belongs to another lender. Send the `provider_id` of the offer.")
    _check_provider(provider_id)
    return documents or ()


def _check_provider(provider_id: int) -> None:
    """Raise OfferUnavailable if the operator assigns lender IDs and has not assigned this ID."""
    if settings.PROVIDERS == "granted" and not Provider.objects.filter(pk=str(provider_id)).exists():
        raise OfferUnavailable("Lender not found.")


def change_application(
    application_id: str, *, actor: Actor, updated_by: str, changes: dict[str, Any], now: datetime
) -> Application:
    """Replace `application_data`, `applicants`, `notes`, or `share` of the actor's own application.

    A counteroffer depends on the data, so a change of the data closes an open counteroffer. Raises ApplicationNotFound.
    Raises RecordNotEditable if the status has frozen the data, or if `share` changes after the status `draft`.
    """
    with transaction.atomic(savepoint=False):
        application = lock_own(application_id, actor.user)
        # Even if the clock was set back, `updated_at` must not be earlier than the last transition.
        columns: dict[str, Any] = {**changes, "updated_at": max(now, application.updated_at)}
        unfrozen = Application.objects.filter(pk=application.pk)
        data = changes.get("application_data", application.application_data)
        seen = application.reviewed_state if application.counteroffer_moves else ""
        whose: dict[str, Any] = {}
        if is_revised := not REVISED.isdisjoint(changes):
            columns["data_changed_by"] = actor.user
            columns["amount_cents"] = Figures(data).amount_cents
            unfrozen = unfrozen.exclude(status__in=FROZEN)
        if "applicants" in changes:
            before = application.applicants
            persons = None if changes["applicants"] is None else Applicants.of(changes["applicants"], before=before)
            columns |= _applicant_columns(persons) | sealed_values(application, applicants=persons)
            whose = changed_members(before, persons)
        if changes.get("share", application.share) != application.share:
            unfrozen = unfrozen.filter(status=DRAFT)
        # The UPDATE statement checks the status again, so it changes no row after a concurrent decision.
        if not unfrozen.update(**columns):
            raise RecordNotEditable("The application's status does not allow changes of its data or of `share`.")
        if is_revised and (changed := differences(application.application_data, data) | whose):
            ApplicationRevision.objects.create(
                application=application,
                status=application.status,
                sha256=sha256(canonical_json(data)).hexdigest(),
                applicants_sha256=columns.get("applicants_sha256", application.applicants_sha256),
                changes=changed,
                updated_by=updated_by,
                changed_at=now,
                principal=actor.user,
                credential=actor.credential,
            )
        # The row is locked, so the other fields are unchanged.
        application.refresh_from_db(fields=[*columns])
        if "applicants" in changes:
            PersonKey.write(application)
        is_changed = seen and application.reviewed_state != seen
        if is_changed and Counteroffer.supersede_open(application, by=actor.user, now=now):
            application.counteroffer_moves += 1
            application.save(update_fields=["counteroffer_moves"])
            Notice.end_counteroffer(application, now=now)
        record_application_event("updated", application, now=now)
    return application


def consent_to_sharing(application: Application, now: datetime) -> None:
    """Store the applicant's consent to share data with the lender. The submission is the consent."""
    if application.share:
        scope = f"{application.pk}: {', '.join(application.share)} to lender {application.provider_id}"
        give_consent(application.consumer_id, LENDER_SHARING, application.pk, scope=scope, now=now)


def follow_sharing(*, now: datetime) -> dict[str, int]:
    """End the consents of closed applications, and store consents that a server of the previous version omitted."""
    ended, has_consent = Q(status__in=(WITHDRAWN, EXPIRED)), Consent.objects.filter(kind=LENDER_SHARING)
    of_ended = Application.objects.filter(ended, pk=OuterRef("reference"))
    count = Consent.objects.filter(Exists(of_ended), kind__in=(LENDER_SHARING, CREDIT_REPORT)).end(now=now)
    missing = Application.objects.filter(~Exists(has_consent.filter(reference=OuterRef("pk"))), ~ended)
    for application in missing.filter(submitted_at__isnull=False, consumer__erased_at__isnull=True).exclude(share=[]):
        consent_to_sharing(application, application.submitted_at or now)
    return {"sharing_ended": count}


def _end_sharing(consent: Consent, *, actor: Actor, now: datetime) -> None:  # noqa: ARG001  consent endings have this signature
    application = Application.objects.select_for_update(no_key=True).filter(pk=consent.reference).first()
    if application is not None and application.share:
        application.share, application.updated_at = [], max(now, application.updated_at)
        application.save(update_fields=["share", "updated_at"])
        record_application_event("updated", application, now=now)


CONSENT_ENDING = (LENDER_SHARING, _end_sharing)


def index_applicants() -> int:
    """Compute all blind indexes and person keys again, with the first encryption key.

    Return the number of changed indexes.
    """
    return index_rows(Application.objects.all(), PersonKey.write)


def index_changed_applicants(*, now: datetime) -> dict[str, int]:  # noqa: ARG001  prune tasks have this signature
    """Update the indexes of applicants that a server of the previous version changed or erased."""
    Application.objects.filter(applicants__isnull=True).exclude(applicant_index=None).update(applicant_index=None)
    PersonKey.objects.filter(application__applicants__isnull=True).delete()
    keyless = Application.objects.filter(person_keys__isnull=True, applicants__isnull=False)
    changed = [index_rows(rows, PersonKey.write) for rows in (out_of_date(Application.objects.all()), keyless)]
    return {"applicants_indexed": sum(changed)}


def _unused_applicants(now: datetime) -> QuerySet[PartialApplicants]:  # noqa: ARG001  prune rules have this signature
    """Return the partial applicants of applications that are not drafts, and of drafts with complete applicants."""
    return PartialApplicants.objects.exclude(application__status=DRAFT, application__applicants__isnull=True)


UNUSED_APPLICANTS = ("partial_applicants", _unused_applicants)


def expire_idle(*, now: datetime) -> dict[str, int]:
    """Expire idle applications in separate transactions. Return their number for each earlier status."""
    actor = Actor.system("expire_applications")
    counts = dict.fromkeys(IDLE_DAYS, 0)
    is_idle = Q()
    for status, days in IDLE_DAYS.items():
        is_idle |= Q(status=status, updated_at__lte=now - timedelta(days=days))
    idle = Application.objects.filter(is_idle, accepted_at__isnull=True).order_by("updated_at")
    items = FailedItems("idle_application", idle, lease=_EXPIRY_LEASE)

    def expire(application: Application) -> None:
        status = application.status
        counts[status] += _expire(application, actor, IDLE_DAYS[status], now)

    items.process(expire, now=now)
    return counts


def _expire(application: Application, actor: Actor, days: int, now: datetime) -> bool:
    try:
        with transaction.atomic():
            application.transition_to(EXPIRED, actor=actor, now=now, reason=IDLE_TEXT.format(days=days))
    except ApiError:
        return False
    return True
