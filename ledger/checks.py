"""Checks of the ledger's signing, for `manage.py doctor` and at startup."""

from typing import Any

from django.core import checks

from ledger import guard, keys, log, signing, witnessing
from ledger.errors import GuardMissingError, LogUnavailableError
from ledger.models import database


def check_ledger_signing_key(**_options: Any) -> list[checks.CheckMessage]:
    """Load the signing key at startup instead of at the first request. Raises ImproperlyConfigured."""
    return [checks.Info(f"signs as {keys.signer().name}")]


def check_ledger_witnesses(**_options: Any) -> list[checks.CheckMessage]:
    """Read the policy file. Raises ImproperlyConfigured."""
    policy = witnessing.policy()
    if policy is None:
        return [checks.Info("WITNESS_POLICY is not set")]
    number = sum(witness.url is not None for witness in policy.witnesses)
    return [checks.Info(f"requests cosignatures of {number} witnesses")]


def check_ledger(**_options: Any) -> list[checks.CheckMessage]:
    """Check whether this machine can sign. Without a signing key, failures are warnings."""
    using = database().alias
    head = log.read_head(using)
    try:
        mark = guard.read()
        if mark is None and not keys.is_here():
            return [checks.Info("signed by another service")]
        if mark is None:  # `check_guard` would create the file with this user as its owner
            if head.number:
                raise GuardMissingError
            return [checks.Info("empty, and its guard file is made with the first block")]
        signing.check_guard(head, using=using)
        if keys.is_here():
            signing.check_key(head)
    except LogUnavailableError as refusal:
        return [checks.Error(str(refusal)) if keys.is_here() else checks.Warning(str(refusal))]
    return [checks.Info(f"may be signed after {head.tree_size} entries")]
