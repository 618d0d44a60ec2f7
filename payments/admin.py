"""Django looks for an app's admin here; the classes are in `payments.console`."""

from payments import console

__all__ = ["console"]
