"""What this installation can do, by the names under which the discovery document tells it.

    capabilities.register("claims")                                                # in AppConfig.ready
    capabilities.register("payments", enabled=partial(is_provided, "CARD_PROCESSOR"))

The app that does a thing registers its name. `enabled` is asked each time: what the settings switch off is not told.
"""

from collections.abc import Callable

from django.conf import settings

_enabled: dict[str, Callable[[], bool]] = {}


def register(name: str, *, enabled: Callable[[], bool] = lambda: True) -> None:
    """Add a capability; a name belongs to one app. Raises ValueError for one that is taken."""
    if name in _enabled:
        raise ValueError(f"The capability {name!r} is registered already.")
    _enabled[name] = enabled


def switched_on() -> list[str]:
    """Return the names of what can be used now, in alphabetical order."""
    return sorted(name for name, is_enabled in _enabled.items() if is_enabled())


def is_provided(setting: str) -> bool:
    """Say whether the provider that a setting chooses does what is told of it.

    In production a sandbox only simulates: it counts where ALLOW_SANDBOX says that it stands there on purpose.
    """
    is_simulated = getattr(settings, setting) in {"", "sandbox"}
    return not is_simulated or not settings.PRODUCTION or settings.ALLOW_SANDBOX
