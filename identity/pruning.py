"""Forgetting log-ins: tokens, sessions, grants and signatures that can no longer be used, and old log-in logs."""

from datetime import timedelta
from typing import Any

from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db.models import Model
from oauth2_provider import models as oauth

from config.ops import pruning
from identity import models
from identity.access.keys import announce_expiring
from identity.access.tokens import REFRESH_DAYS
from identity.kyc.services import expire_verifications
from identity.models import RefreshToken, TokenFamily, UsedSignature

LOG_DAYS = 90  # long enough to look into a break-in that was noticed late

_KEPT: dict[type[Model], str] = {
    models.User: "accounts are disabled, never deleted",
    models.ApiKey: "what a key did names it, revoked or not",
    models.SigningKey: "a handful, by rotation",
    models.OAuthClient: "made and removed by people",
    models.BankItem: "until its owner unlinks it",
    models.BankAccount: "approved by its owner",
    models.BankTransaction: "approved by its owner",
    models.KycVerification: "evidence of who was identified, and how",
    models.KycVerificationHistory: "a story that only grows",
    models.SandboxItem: "the sandbox's memory",
    models.SandboxVerification: "the sandbox's memory",
    Group: "part of the set-up",
    Permission: "part of the set-up",
    ContentType: "part of the set-up",
}


def register() -> None:
    """Say what ends when: log-ins at their own end, logs of log-ins after LOG_DAYS, keys and verifications."""
    pruning.register(RefreshToken, "refresh_tokens", lambda now: RefreshToken.objects.filter(expires_at__lte=now))
    pruning.register(
        TokenFamily, "token_families", lambda _now: TokenFamily.objects.filter(refresh_tokens__isnull=True)
    )
    pruning.register(UsedSignature, "used_signatures", lambda now: UsedSignature.objects.filter(expires_at__lte=now))
    pruning.register(Session, "sessions", lambda now: Session.objects.filter(expire_date__lt=now))
    _register_oauth()
    if apps.is_installed("axes"):
        _register_log_in_logs()
    for model, why in _KEPT.items():
        pruning.keeps(model, why)
    pruning.register_task(announce_expiring)
    pruning.register_task(expire_verifications)


def _expired(model: Any) -> pruning.Rows:
    """Select what has expired of a table of the toolkit's."""
    return lambda now: model.objects.filter(expires__lt=now)


def _logged_before(model: Any) -> pruning.Rows:
    """Select what is older than LOG_DAYS of a log of django-axes'."""
    return lambda now: model.objects.filter(attempt_time__lt=now - timedelta(days=LOG_DAYS))


def _register_oauth() -> None:
    """Forget what the toolkit's own tables hold. Of them only grants are used; the tokens are ours."""
    for model, name in (
        (oauth.Grant, "oauth_grants"),
        (oauth.AccessToken, "oauth_access_tokens"),
        (oauth.IDToken, "oauth_id_tokens"),
        (oauth.DeviceGrant, "oauth_device_grants"),
    ):
        pruning.register(model, name, _expired(model))
    pruning.register(
        oauth.RefreshToken,
        "oauth_refresh_tokens",
        lambda now: oauth.RefreshToken.objects.filter(created__lt=now - timedelta(days=REFRESH_DAYS)),
    )


def _register_log_in_logs() -> None:
    """Forget what django-axes wrote down."""
    from axes import models as axes

    for model, name in (
        (axes.AccessAttempt, "log_in_attempts"),
        (axes.AccessFailureLog, "log_in_failures"),
        (axes.AccessLog, "log_ins"),
    ):
        pruning.register(model, name, _logged_before(model))
    pruning.register(
        axes.AccessAttemptExpiration,
        "log_in_attempt_expirations",
        lambda now: axes.AccessAttemptExpiration.objects.filter(expires_at__lt=now - timedelta(days=LOG_DAYS)),
    )
