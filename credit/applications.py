"""Making, changing and finding applications."""

from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import CharField, OuterRef, Subquery
from django.db.models.functions import Cast

from config.api.prepared import PreparedGet, PreparedSelect, insert
from config.core.errors import ApiError, InvalidStatus
from config.core.ids import get_by_uuid, parse_uuid, uuid7
from config.core.json_text import canonical_json
from config.core.lifecycle import Actor
from credit.differences import differences
from credit.errors import ApplicationNotFound, OfferUnavailable, RecordNotEditable
from credit.figures import Figures
from credit.machine import APPROVED, DRAFT, EXPIRED, FROZEN, INITIAL_STATUSES, PENDING_DOCUMENTS, SUBMITTED
from credit.models import Application, ApplicationRevision, Offer, record_application_event
from credit.serializers import ApplicationAnswer

# How long an application may sit idle in a status before it expires.
IDLE_DAYS = {DRAFT: 30, PENDING_DOCUMENTS: 30, APPROVED: 30}
_EXPIRY_BATCH = 500


_PROVIDER_OWNER = Subquery(
    Application.provider_owner(Cast(OuterRef("provider_id"), CharField()), OuterRef("created_at")).values("owner_id")
)
_load_visible = PreparedGet(
    Application,
    lambda application_id, user_id: Application.objects.filter(
        Application.visible_to(user_id), pk=application_id
    ).annotate(provider_owner_id=_PROVIDER_OWNER),  # type: ignore[no-redef]  # as the property that it spares
    annotations=("provider_owner_id",),
)
_find_offer = PreparedSelect(lambda offer_id: Offer.objects.filter(pk=offer_id), ("provider_id", "is_active")).first
_read_own = PreparedSelect(
    lambda application_id, consumer_id: Application.objects.filter(pk=application_id, consumer_id=consumer_id),
    ApplicationAnswer.sources(),
).first


def load_visible(application_id: str, user: Any) -> Application:
    """Return the application that a path names; raises ApplicationNotFound unless `user` may see it."""
    identifier = parse_uuid(application_id)
    application = _load_visible(application_id=identifier, user_id=user.pk) if identifier else None
    if application is None:
        raise ApplicationNotFound
    return application


def load_for(application_id: str, actor: Actor) -> Application:
    """Return the application that a path names; raises ApplicationNotFound unless `actor` may see it so.

    A credential that is limited to scopes stands for its account and for the providers that it acts for: what the
    platform's reviewers see is beyond its reach.
    """
    application = load_visible(application_id, actor.user)
    is_limited = actor.limited and application.consumer_id != actor.user.pk
    if is_limited and not application.is_sent_to(actor.user):
        raise ApplicationNotFound
    return application


def lock_own(application_id: str, user: Any) -> Application:
    """Return the application, locked for this transaction; raises ApplicationNotFound unless it is `user`'s own."""
    own = Application.objects.select_for_update().filter(consumer=user)
    return get_by_uuid(own, application_id, ApplicationNotFound)


def show_application(application_id: str, user: Any) -> dict[str, Any] | None:
    """Return the answer for one of the user's own applications, in one query; None when it is not theirs."""
    identifier = parse_uuid(application_id)
    row = _read_own(application_id=identifier, consumer_id=user.pk) if identifier else None
    return None if row is None else ApplicationAnswer.represent_values(row)


@cache
def _listing(filters: tuple[str, ...]) -> PreparedSelect:
    """Return the statement for a page of a consumer's applications with these filters.

    The page's ids come from an index alone, so that an offset costs index entries and not rows.
    """

    def build(*, limit: int, offset: int, **given: Any) -> Any:
        page = Application.objects.filter(**given).order_by("-id").values("id")[offset : offset + limit]
        return Application.objects.filter(id__in=page).order_by("-id")

    return PreparedSelect(build, ApplicationAnswer.sources(), arguments=("consumer_id", *filters, "limit", "offset"))


def list_applications(*, consumer_id: int, limit: int, offset: int, **filters: Any) -> list[dict[str, Any]]:
    """Return a page of answers, newest first."""
    statement = _listing(tuple(sorted(filters)))
    rows = statement.rows(consumer_id=consumer_id, limit=limit, offset=offset, **filters)
    return [ApplicationAnswer.represent_values(row) for row in rows]


def create_application(
    *,
    consumer_id: int,
    limited: bool = False,
    offer_id: int,
    provider_id: int,
    application_data: Any,
    initial_status: str | None,
    now: datetime,
) -> Application:
    """Make an application; `limited` says that the consumer's credential is limited to scopes.

    Raises InvalidStatus for a beginning that is kept to reviewers (by the review policy, and from limited credentials
    always), OfferUnavailable for a listed offer that is closed (or of another provider, where reviewers decide), or an
    unlisted one where only listed ones count.
    """
    status = initial_status or DRAFT
    if (limited or settings.REVIEW_POLICY != "open") and status not in INITIAL_STATUSES:
        raise InvalidStatus(f"An application begins as {' or '.join(sorted(INITIAL_STATUSES))}.")
    _check_offer(offer_id, provider_id)
    application = Application(
        id=uuid7(),
        consumer_id=consumer_id,
        offer_id=offer_id,
        provider_id=provider_id,
        status=status,
        initial_status=status,
        application_data=application_data,
        amount_cents=Figures(application_data).amount_cents,
        data_changed_by_id=consumer_id,
        created_at=now,
        updated_at=now,
    )
    if status != DRAFT:
        application.submitted_at = now
        for name, value in application.pinned_offer().items():
            setattr(application, name, value)
    with transaction.atomic(savepoint=False):
        insert(application)
        if status == SUBMITTED:
            application.score_submission(now=now)
        record_application_event("created", application, now=now)
    return application


def _check_offer(offer_id: int, provider_id: int) -> None:
    """Raise OfferUnavailable unless the offer may be applied to through this provider."""
    offer = _find_offer(offer_id=offer_id)
    if offer is None:
        if settings.REQUIRE_LISTED_OFFERS:
            raise OfferUnavailable("The offer is not listed here.")
        return
    offered_by, is_active = offer
    if not is_active:
        raise OfferUnavailable
    # Where a provider's members review, naming another provider would choose one's own reviewers.
    if settings.REVIEW_POLICY != "open" and offered_by != str(provider_id):
        raise OfferUnavailable("The offer belongs to another provider.")


def change_application(
    application_id: str, *, actor: Actor, updated_by: str, changes: dict[str, Any], now: datetime
) -> Application:
    """Replace `application_data` and/or `notes` of the actor's own application.

    Raises ApplicationNotFound, or RecordNotEditable when the status has frozen the data.
    """
    with transaction.atomic(savepoint=False):
        application = lock_own(application_id, actor.user)
        # Not before the last transition: the next one must not come before it either, whatever the clock says.
        columns: dict[str, Any] = {**changes, "updated_at": max(now, application.updated_at)}
        unfrozen = Application.objects.filter(pk=application.pk)
        if "application_data" in changes:
            columns["data_changed_by"] = actor.user
            columns["amount_cents"] = Figures(changes["application_data"]).amount_cents
            unfrozen = unfrozen.exclude(status__in=FROZEN)
        # The status is asked in the statement that writes: a decision made meanwhile is respected.
        if not unfrozen.update(**columns):
            raise RecordNotEditable
        if "application_data" in changes:
            ApplicationRevision.objects.create(
                application=application,
                status=application.status,
                sha256=sha256(canonical_json(changes["application_data"])).hexdigest(),
                changes=differences(application.application_data, changes["application_data"]),
                updated_by=updated_by,
                changed_at=now,
                principal=actor.user,
                credential=actor.credential,
            )
        application.refresh_from_db()
        record_application_event("updated", application, now=now)
    return application


def expire_idle(*, now: datetime) -> dict[str, int]:
    """Expire what nobody took up; return how many left each status. Each application is its own transaction."""
    actor = Actor.system("expire_applications")
    counts = dict.fromkeys(IDLE_DAYS, 0)
    for status, days in IDLE_DAYS.items():
        idle = Application.objects.filter(
            status=status, accepted_at__isnull=True, updated_at__lte=now - timedelta(days=days)
        )
        while batch := list(idle.order_by("updated_at")[:_EXPIRY_BATCH]):
            expired = sum(_expire(application, actor, days, now) for application in batch)
            counts[status] += expired
            if not expired:
                break  # every one of them was moved by somebody else: leave the rest to the next run
    return counts


def _expire(application: Application, actor: Actor, days: int, now: datetime) -> bool:
    try:
        with transaction.atomic():
            application.transition_to(EXPIRED, actor=actor, now=now, reason=f"Idle for {days} days.")
    except ApiError:
        return False
    return True
