"""The back office of this app: Django looks for it here; the admins stand in files by subject."""

from payments.cards import admin as card_admin
from payments.wallets import admin as wallet_admin

__all__ = ["card_admin", "wallet_admin"]
