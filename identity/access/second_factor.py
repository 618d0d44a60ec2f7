"""Who has a second factor, and who must have given it. Service B loads this, too, and has no package that keeps one."""

from typing import Any

from config.core.lifecycle import Actor, SecondFactorRequired


def has_one(user: Any) -> bool:
    return bool(user.authenticator_set.exists())


def require_second_factor(actor: Actor) -> None:
    """Raise SecondFactorRequired for a log-in without the second factor that the account has, or that staff need.

    It is asked wherever an account lets somebody else act for it.
    """
    if not actor.second_factor and (has_one(actor.user) or (actor.lacks_second_factor and actor.user.is_staff)):
        raise SecondFactorRequired
