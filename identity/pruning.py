"""Forgetting tokens and signatures that can no longer be used."""

from datetime import datetime

from config.api.pruning import delete_in_batches
from identity.models import RefreshToken, TokenFamily, UsedSignature


def prune(*, now: datetime) -> dict[str, int]:
    """Forget expired refresh tokens, families without any, and signatures that are too old to be replayed."""
    tokens = delete_in_batches(RefreshToken.objects.filter(expires_at__lte=now))
    return {
        "refresh_tokens": tokens,
        "token_families": delete_in_batches(TokenFamily.objects.filter(refresh_tokens__isnull=True)),
        "used_signatures": delete_in_batches(UsedSignature.objects.filter(expires_at__lte=now)),
    }
