"""Which accounts have a second factor, and which must use it. Service B loads this, too, and has no package that keeps
one.
"""

from typing import Any

from config.core.lifecycle import Actor, SecondFactorRequired


def has_one(user: Any) -> bool:
    return bool(user.authenticator_set.exists())


def any_has_one(**account: Any) -> bool:
    """Return whether the account that these conditions name has one: one statement, also for an unknown account."""
    from allauth.mfa.models import Authenticator

    return bool(Authenticator.objects.filter(**account).exists())


def require_lender_factor(actor: Actor) -> None:
    """Raise SecondFactorRequired for a log-in, or a key, with which a lender's member may not act for the lender."""
    if actor.lacks_second_factor:
        raise SecondFactorRequired


def require_second_factor(actor: Actor) -> None:
    """Raise SecondFactorRequired for a log-in without the second factor that the account has, or that staff need.

    It is required wherever an account allows others to act on its behalf.
    """
    if not actor.second_factor and (has_one(actor.user) or (actor.lacks_second_factor and actor.user.is_staff)):
        raise SecondFactorRequired
