from datetime import timedelta
from typing import Any

from axes import models as axes
from django.contrib.sessions.models import Session
from django.db.models import Model
from oauth2_provider import models as oauth

from config.ops import pruning
from identity.access.keys import announce_expiring
from identity.access.tokens import REFRESH_DAYS
from identity.kyc.services import expire_verifications
from identity.models import RefreshToken, TokenFamily, UsedSignature

LOG_DAYS = 90  # long enough to look into a break-in that was noticed late


# (table, name, column, days): a row goes so many days after the moment in its column.
_RULES: tuple[tuple[type[Model], str, str, int], ...] = (
    (RefreshToken, "refresh_tokens", "expires_at", 0),
    (UsedSignature, "used_signatures", "expires_at", 0),
    (Session, "sessions", "expire_date", 0),
    # Of the toolkit's tables only grants are used; the tokens are ours.
    (oauth.Grant, "oauth_grants", "expires", 0),
    (oauth.AccessToken, "oauth_access_tokens", "expires", 0),
    (oauth.IDToken, "oauth_id_tokens", "expires", 0),
    (oauth.DeviceGrant, "oauth_device_grants", "expires", 0),
    (oauth.RefreshToken, "oauth_refresh_tokens", "created", REFRESH_DAYS),
    (axes.AccessAttempt, "log_in_attempts", "attempt_time", LOG_DAYS),
    (axes.AccessFailureLog, "log_in_failures", "attempt_time", LOG_DAYS),
    (axes.AccessLog, "log_ins", "attempt_time", LOG_DAYS),
    (axes.AccessAttemptExpiration, "log_in_attempt_expirations", "expires_at", LOG_DAYS),
)


def register() -> None:
    for model, name, moment, days in _RULES:
        pruning.register(model, name, _older(model, moment, days))
    empty = TokenFamily.objects.filter(refresh_tokens__isnull=True)
    pruning.register(TokenFamily, "token_families", lambda _now: empty.all())
    pruning.register_task(announce_expiring)
    pruning.register_task(expire_verifications)


def _older(model: Any, moment: str, days: int) -> pruning.Rows:
    return lambda now: model.objects.filter(**{f"{moment}__lte": now - timedelta(days=days)})
