from payments import console as card_admin
from payments.wallets import admin as wallet_admin

__all__ = ["card_admin", "wallet_admin"]
