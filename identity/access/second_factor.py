"""Checks of second factors. This module works without allauth, which service B does not install."""

from typing import Any

from config.core.lifecycle import Actor, SecondFactorRequired


def has_one(user: Any) -> bool:
    return bool(user.authenticator_set.exists())


def any_has_one(**account: Any) -> bool:
    """Check whether the matching account has a second factor.

    The check runs the same SQL query for known and unknown accounts.
    """
    from allauth.mfa.models import Authenticator

    return bool(Authenticator.objects.filter(**account).exists())


def require_lender_factor(actor: Actor) -> None:
    """Raise SecondFactorRequired if a lender's member uses a log-in or a key without a second factor."""
    if actor.lacks_second_factor:
        raise SecondFactorRequired


def require_second_factor(actor: Actor) -> None:
    """Raise SecondFactorRequired if a log-in lacks a second factor that the account has, or that staff need.

    Call this for each action with which an account permits others to act on its behalf.
    """
    if not actor.second_factor and (has_one(actor.user) or (actor.lacks_second_factor and actor.user.is_staff)):
        raise SecondFactorRequired
