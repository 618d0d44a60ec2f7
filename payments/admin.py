"""Register the admin classes of `payments.console`: Django imports only this module of an app."""

from payments import console

__all__ = ["console"]
