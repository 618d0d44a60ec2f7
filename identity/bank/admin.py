from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from config.backoffice.bases import OwnedRecords, ReadOnlyAdmin
from config.backoffice.consoles import VIEW, may
from config.backoffice.html import NOTHING, chip, code, column, moment
from config.backoffice.lists import among
from config.backoffice.personal import mask
from config.core.currencies import to_units
from identity.bank.models import BankAccount, BankItem, BankTransaction
from identity.providers.choice import PROVIDERS


def _amount_column(field: str, description: str) -> Any:
    @admin.display(description=description)
    def amount(_admin: Any, record: Any) -> str:
        cents = getattr(record, field)
        if not isinstance(cents, int):
            return NOTHING if cents is None else str(cents)
        return f"{to_units(cents, record.currency):,} {record.currency or ''}".strip()

    return amount


class _BankRecords(OwnedRecords):
    """The base of the admin pages of bank data, with a search by the vendor's IDs."""

    search_help_text = "The vendor's id, or the beginning of a user name"
    get_search_results = ReadOnlyAdmin.get_search_results


# The account types. All vendors use these names.
ACCOUNT_TYPES = ("depository", "credit", "loan", "investment", "brokerage", "payroll", "other")


@admin.register(BankItem)
class BankItemAdmin(_BankRecords):
    """Linked items. The admin never loads the access token, so no page can show it."""

    list_display = ("item_id", "person", "provider", "token", "login", "linked")
    export_columns = ("id", "item_id", "user_id", "provider", "needs_login", "linked_at")
    list_filter = (("provider", among(PROVIDERS)), "needs_login")
    search_fields = ("item_id__startswith", "user__username__startswith")
    fields = ("item_id", "person", "provider", "token", "login", "staged", "linked")

    token = column(code, "fingerprint", "token's fingerprint")
    staged = column(moment, "accounts_staged_at", "accounts staged")
    linked = column(moment, "linked_at", "linked", ordering="linked_at")

    @admin.display(description="log-in", ordering="needs_login")
    def login(self, record: Any) -> SafeString | str:
        return chip("requires_input") if record.needs_login else NOTHING

    def get_queryset(self, request: HttpRequest) -> QuerySet[BankItem]:
        return super().get_queryset(request).defer("access_token")


@admin.register(BankAccount)
class BankAccountAdmin(_BankRecords):
    export_columns = (
        "id", "user_id", "account_id", "item_id", "name", "mask", "type", "subtype", "currency", "current_cents",
        "available_cents", "limit_cents", "from_provider", "updated_at",
    )  # fmt: skip
    list_display = ("name", "mask", "person", "type", "balance", "from_provider", "updated_at")
    list_filter = (("type", among(ACCOUNT_TYPES)), "from_provider")
    search_fields = ("account_id", "user__username__startswith")
    fields = (
        "account_id", "name", "official_name", "mask", "person", "item_id", "type", "subtype", "balance", "available",
        "limit", "from_provider", "created_at", "updated_at",
    )  # fmt: skip

    balance = _amount_column("current_cents", "balance")
    available = _amount_column("available_cents", "available")
    limit = _amount_column("limit_cents", "limit")


@admin.register(BankTransaction)
class BankTransactionAdmin(_BankRecords):
    export_columns = (
        "id", "user_id", "transaction_id", "account_id", "date", "name", "merchant_name", "category", "amount_cents",
        "currency", "pending", "from_provider", "updated_at",
    )  # fmt: skip
    list_display = ("transaction_id", "date", "name", "person", "amount", "pending", "from_provider")
    list_filter = ("pending", "from_provider")
    search_fields = ("transaction_id", "account_id", "user__username__startswith")
    fields = (
        "transaction_id", "account_id", "item_id", "person", "date", "name", "merchant_name", "category", "amount",
        "pending", "from_provider", "created_at", "updated_at",
    )  # fmt: skip

    amount = _amount_column("amount_cents", "amount (positive: paid out)")


def accounts_of(person_id: int, viewer: Any) -> list[tuple[str, Any]]:
    if not may(viewer, "identity.view_bankaccount"):
        return []
    names = list(BankAccount.objects.filter(user_id=person_id).values_list("name", flat=True)[:10])
    names_shown = names if may(viewer, VIEW) else mask(names)
    return [("Bank accounts", ", ".join(names_shown) or "none")]
