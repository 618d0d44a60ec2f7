from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, Q
from oauth2_provider import models as oauth

from identity.access.tokens import ACCESS_SECONDS, REFRESH_DAYS
from identity.models import Invitation, IssuerSession, OneTimeLink, RefreshToken, TokenFamily, UsedSignature, User

INVITATION_KEPT_DAYS = 30  # the retention after the expiry, because the invited email address is personal data
UNCONFIRMED_DAYS = 7  # this must exceed the validity of a confirmation link


def _older(model: Any, moment: str, *, days: int = 0) -> Callable[[datetime], Any]:
    return lambda now: model.objects.filter(**{f"{moment}__lte": now - timedelta(days=days)})


def _ended_families(now: datetime) -> Any:
    """Return log-ins without a refresh token. A partner's log-in is excluded while its access token is valid."""
    lasts = Q(actor__isnull=False, created_at__gt=now - timedelta(seconds=ACCESS_SECONDS))
    return TokenFamily.objects.filter(refresh_tokens__isnull=True).exclude(lasts)


def _unconfirmed(now: datetime) -> Any:
    """Return accounts that never confirmed an address, never logged in, and have no records."""
    addresses = EmailAddress.objects.filter(user=OuterRef("pk"))
    made_before = now - timedelta(days=UNCONFIRMED_DAYS)
    accounts = User.objects.filter(
        Exists(addresses), ~Exists(addresses.filter(verified=True)), last_login=None, date_joined__lte=made_before
    ).filter(is_staff=False, groups=None)
    for relation in User._meta.related_objects:
        if relation.related_model is not EmailAddress:
            rows: Any = relation.related_model
            accounts = accounts.filter(~Exists(rows._default_manager.filter(**{relation.field.name: OuterRef("pk")})))
    return accounts


RULES = {
    "refresh_tokens": _older(RefreshToken, "expires_at"),
    "used_signatures": _older(UsedSignature, "expires_at"),
    "one_time_links": _older(OneTimeLink, "expires_at"),
    "sessions": _older(Session, "expire_date"),
    # The platform uses only the grants of the toolkit, because it has its own tokens.
    "oauth_grants": _older(oauth.Grant, "expires"),
    "oauth_access_tokens": _older(oauth.AccessToken, "expires"),
    "oauth_id_tokens": _older(oauth.IDToken, "expires"),
    "oauth_device_grants": _older(oauth.DeviceGrant, "expires"),
    "oauth_refresh_tokens": _older(oauth.RefreshToken, "created", days=REFRESH_DAYS),
    "invitations": _older(Invitation, "expires_at", days=INVITATION_KEPT_DAYS),
    # The record of a session contains an IP address, so it is deleted together with the session.
    "user_sessions": lambda _now: UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")),
    "issuer_sessions": _older(IssuerSession, "began_at", days=1),
    "token_families": _ended_families,
    "unconfirmed_accounts": _unconfirmed,
}
