"""The display name of a bank consent. The name is the bank's name or the name of the first approved account."""

from django.db.models import OuterRef, Subquery
from django.db.models.functions import Coalesce

from identity.access.consents import BANK_LINK
from identity.bank.models import BankAccount, BankItem

_ACCOUNT = BankAccount.objects.reported_by_provider().filter(user=OuterRef("user"), item_id=OuterRef("item_id"))
_NAME = Coalesce("institution_name", Subquery(_ACCOUNT.order_by("id").values("name")[:1]))

NAMES = {BANK_LINK: Subquery(BankItem.objects.filter(pk=OuterRef("reference")).values(bank=_NAME))}
