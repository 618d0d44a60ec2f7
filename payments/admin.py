"""Django imports only this module of an app for the admin. The classes are in `payments.console`."""

from payments import console

__all__ = ["console"]
