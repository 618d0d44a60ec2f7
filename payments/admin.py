"""The back office of this room: Django looks for it here; the admins stand in files by subject."""

from payments import card_admin, waiting, wallet_admin

__all__ = ["card_admin", "waiting", "wallet_admin"]
