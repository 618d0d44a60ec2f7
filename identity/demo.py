import secrets
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import transaction

from config.core.digest import digest_of
from config.core.groups import PARTNER
from config.core.lifecycle import Actor
from config.ops import demo_ids
from config.webhooks.events import record_event
from identity.access.consents import APP
from identity.access.keys import DEFAULT_DAYS, create_api_key
from identity.accounts.managed import make_account
from identity.bank.services import link_item
from identity.kyc.services import apply_state, create_verification, request_verification, store_attempt
from identity.models import (
    ApiKey,
    BankItem,
    Consent,
    Export,
    Invitation,
    KycVerification,
    ManagedAccount,
    OAuthClient,
    SandboxVerification,
    User,
)
from identity.oauth.clients import create_client
from identity.providers.base import Progress
from identity.providers.sandbox import Sandbox, complete_verification

_VERIFIED_DAYS_AGO = 40  # a verification of this age does not count as a recent attempt
_OPEN_DAYS = 365  # the demo's open items are valid for this time
_COLLECT_GRACE_DAYS = 7


def seed(*, consumer: Any, staff: Any, now: datetime) -> None:
    _make_partner(consumer, now=now)
    if not ApiKey.objects.filter(pk=demo_ids.EXPIRING_KEY).exists():
        expires_at = now + timedelta(days=5)
        created_at = expires_at - timedelta(days=DEFAULT_DAYS)
        _keep_key(demo_ids.EXPIRING_KEY, staff, name="Nightly report", now=created_at, expires_at=expires_at)
    if Sandbox.name == settings.OPEN_BANKING and not KycVerification.objects.filter(pk=demo_ids.VERIFIED).exists():
        began = now - timedelta(days=_VERIFIED_DAYS_AGO)
        first = _begin(demo_ids.VERIFIED, consumer, previous=None, now=began)
        _finish(first, Progress.PASSED, now=began)
        _begin(demo_ids.OPEN_VERIFICATION, consumer, previous=first, now=now)
    verify(_person("demo-noor"), Progress.REVIEW, now=now)
    verify(_person("demo-emil"), None, now=now)
    if not BankItem.objects.filter(user=consumer).exists():
        actor = Actor(user=consumer, credential="demo")
        link_item(actor=actor, public_token=f"public-sandbox-demo-{consumer.pk}", now=now)
    if not Consent.objects.filter(pk=demo_ids.CONSENT).exists():
        about = {"scope": "Budget planner: offers:read", "given_at": now - timedelta(days=_VERIFIED_DAYS_AGO)}
        Consent.objects.create(
            id=demo_ids.CONSENT, account=consumer, kind=APP, reference=demo_ids.CONSENT, ended_at=now, **about
        )
        began = now - timedelta(days=_VERIFIED_DAYS_AGO)
        customers = ManagedAccount.objects.filter(pk=demo_ids.MANAGED_USER, partner=consumer).values_list(
            "pk", flat=True
        )
        for key, account in zip((demo_ids.EXPORT, demo_ids.MANAGED_EXPORT), (consumer.pk, *customers), strict=False):
            Export.objects.create(
                id=key, account_id=account, requested_by=consumer, status=Export.EXPIRED, created_at=began,
                ready_at=began, expires_at=began + Export.LASTS,
            )  # fmt: skip
    if not ApiKey.objects.filter(pk=demo_ids.KEY_TO_COLLECT).exists():
        _offer_key(consumer, now=now)


def verify(person: Any, progress: Progress | None, *, now: datetime) -> None:
    if KycVerification.objects.filter(user=person).exists():
        return
    state = request_verification(user=person, key=None, template_id=None, redirect_uri=None, now=now)
    actor = Actor(user=person, credential="demo")
    verification = create_verification(actor=actor, state=state, template_id=None, redirect_uri=None, now=now)
    if progress is not None:
        _finish(verification, progress, now=now)


@transaction.atomic
def _begin(identifier: UUID, person: Any, *, previous: KycVerification | None, now: datetime) -> KycVerification:
    attempt = 1 if previous is None else previous.attempt + 1
    state = Sandbox().create_verification(
        client_user_id=f"{person.pk}-demo-{attempt}", template_id=None, redirect_uri=None
    )
    expires_at = now + timedelta(days=_OPEN_DAYS)
    return store_attempt(person, state, previous=previous, now=now, id=identifier, expires_at=expires_at)


def _finish(verification: KycVerification, progress: Progress, *, now: datetime) -> None:
    session = SandboxVerification.objects.get(pk=verification.provider_reference)
    apply_state(verification, complete_verification(session.page_token, progress, now=now), now=now)


@transaction.atomic
def _offer_key(owner: Any, *, now: datetime) -> None:
    """Create a key and a successor, which the owner can collect."""
    old = create_api_key(owner=owner, name="Older integration", scopes=["offers:read"], now=now).record
    grace = _COLLECT_GRACE_DAYS
    _keep_key(demo_ids.KEY_TO_COLLECT, owner, name=old.name, now=now, replaces=old, collect_grace_days=grace)
    record_event("api_key.rotated", account_id=owner.pk, now=now, api_key_id=demo_ids.KEY_TO_COLLECT, replaces=old.pk)


def _make_partner(partner: Any, *, now: datetime) -> None:
    """Make the demo account a partner with two customers, and create its keys, OAuth clients, and an invitation.

    This function must run first, because the API examples contain the IDs of the customers, which are sequential.
    """
    if ManagedAccount.objects.filter(partner=partner).exists():
        return
    partner.groups.add(Group.objects.get(name=PARTNER))
    actor = Actor(user=User.objects.get(pk=partner.pk), credential="demo")  # this reloads the permissions
    for number in (1, 2):
        make_account(actor, external_id=f"customer-{number}", email=None, name=None, now=now)
    for identifier, name in ((demo_ids.KEY_TO_ROTATE, "Shop"), (demo_ids.KEY_TO_REVOKE, "Old shop")):
        if not ApiKey.objects.filter(pk=identifier).exists():
            _keep_key(identifier, partner, name=name, now=now)
    for client_id, name in ((demo_ids.OAUTH_CLIENT, "Savings app"), (demo_ids.OAUTH_CLIENT_TO_DELETE, "Old app")):
        if not OAuthClient.objects.filter(client_id=client_id).exists():
            uris, scopes = ["https://app.example/callback"], ["offers:read"]
            client, _ = create_client(name=name, redirect_uris=uris, scopes=scopes, public=False, owner=partner)
            OAuthClient.objects.filter(pk=client.pk).update(client_id=client_id)
    invited = {"role": "member", "provider_id": str(demo_ids.OWN_PROVIDER), "email": "colleague@example.org"}
    Invitation.objects.get_or_create(
        id=demo_ids.ACCOUNT_INVITATION,
        defaults={**invited, "invited_by": partner, "created_at": now, "expires_at": now + Invitation.VALID_FOR},
    )


def _keep_key(
    identifier: str, owner: Any, *, name: str, now: datetime, expires_at: datetime | None = None, **columns: Any
) -> None:
    ApiKey.objects.create(
        id=identifier,
        owner=owner,
        name=name,
        digest=digest_of(secrets.token_urlsafe(32)),  # the plain key does not exist
        secret=secrets.token_urlsafe(32),
        scopes=["offers:read"],
        created_at=now,
        expires_at=expires_at or now + timedelta(days=DEFAULT_DAYS),
        **columns,
    )


def _person(username: str) -> User:
    person, is_new = User.objects.get_or_create(username=username)
    if is_new:
        person.set_unusable_password()
        person.save()
    return person
