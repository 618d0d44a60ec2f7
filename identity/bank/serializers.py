from config.api import serializers
from identity.providers.base import ItemStatus

TOKEN_MAX_LENGTH = 512


class BankAccountPayload(serializers.RequestSerializer):
    """A bank account; amounts are cents."""

    account_id = serializers.IdField()
    name = serializers.IdField()
    type = serializers.IdField(max_length=64)
    item_id = serializers.IdField(allow_null=True, required=False)
    official_name = serializers.TextField(max_length=255, allow_null=True, required=False)
    mask = serializers.TextField(max_length=16, allow_null=True, required=False)
    subtype = serializers.TextField(max_length=64, allow_null=True, required=False)
    currency = serializers.TextField(max_length=16, allow_null=True, required=False)
    institution_id = serializers.TextField(max_length=64, allow_null=True, required=False)
    persistent_account_id = serializers.TextField(max_length=255, allow_null=True, required=False)
    available_cents = serializers.Int64Field(allow_null=True, required=False)
    current_cents = serializers.Int64Field(allow_null=True, required=False)
    limit_cents = serializers.Int64Field(allow_null=True, required=False)
    balance_on = serializers.DayField(allow_null=True, required=False)


class BankTransactionPayload(serializers.RequestSerializer):
    """A booking; `amount_cents` is positive when money left the account."""

    transaction_id = serializers.IdField()
    account_id = serializers.IdField()
    amount_cents = serializers.Int64Field()
    date = serializers.DayField()
    name = serializers.IdField()
    item_id = serializers.IdField(allow_null=True, required=False)
    currency = serializers.TextField(max_length=16, allow_null=True, required=False)
    merchant_name = serializers.TextField(max_length=255, allow_null=True, required=False)
    category = serializers.TextField(max_length=255, allow_null=True, required=False)
    pending = serializers.FlagField(required=False)


class LinkTokenRequestSerializer(serializers.RequestSerializer):
    """The account that links a bank, or logs in again at a linked one."""

    user_id = serializers.IdField()
    item_id = serializers.IdField(
        allow_null=True, required=False, help_text="A linked item with status `login_required`, to log in again."
    )


class ExchangeRequestSerializer(serializers.RequestSerializer):
    """Link's result, and its user."""

    public_token = serializers.TextField(
        min_length=1, max_length=TOKEN_MAX_LENGTH, help_text="Link's result in the browser."
    )
    user_id = serializers.IdField()


class AccountsQuery(serializers.QuerySerializer):
    access_token = serializers.TextField(
        min_length=1, max_length=TOKEN_MAX_LENGTH, required=False, help_text="Used instead of the stored tokens."
    )


class TransactionsQuery(serializers.PageQuery, AccountsQuery):
    pass


class LinkTokenPageSerializer(serializers.ResponseSerializer):
    """The input that opens Link."""

    link_token = serializers.TextField(help_text="Opens Link in the browser.")
    expiration = serializers.DateTimeField(help_text="Until when (UTC).")


class ExchangeSerializer(serializers.ResponseSerializer):
    """The linked item, and its accounts and bookings where they wait for the person's yes."""

    item_id = serializers.TextField()
    linked = serializers.FlagField(help_text="Whether the bank is linked.")
    staged_item_ids = serializers.ListField(
        child=serializers.TextField(),
        help_text="Staged items that wait for the person's yes; empty where nothing is staged.",
    )


class BankAccountSerializer(serializers.JsonPartSerializer):
    """A bank account."""

    account_id = serializers.TextField()
    item_id = serializers.TextField()
    name = serializers.TextField()
    official_name = serializers.TextField(allow_null=True, help_text="The bank's name for it; null if unknown.")
    mask = serializers.TextField(allow_null=True, help_text="The last digits of the account's number.")
    type = serializers.TextField(help_text="Such as `depository` or `credit`.")
    subtype = serializers.TextField(allow_null=True, help_text="Such as `checking`; null where that is not known.")
    institution_id = serializers.TextField(allow_null=True, help_text="The bank's id at the vendor, null if unknown.")
    persistent_account_id = serializers.TextField(
        allow_null=True, help_text="The account's id that stays the same when it is linked again, null if unknown."
    )
    currency = serializers.TextField(allow_null=True, help_text="The ISO 4217 code, null if unknown.")
    exponent = serializers.Int32Field(
        help_text="The decimal places of the currency's minor unit, such as 2 for USD and 0 for JPY."
    )
    available_cents = serializers.Int64Field(
        allow_null=True, help_text="The available amount in the currency's minor unit, null if unknown."
    )
    current_cents = serializers.Int64Field(
        allow_null=True, help_text="The balance in the currency's minor unit, null if unknown."
    )
    limit_cents = serializers.Int64Field(
        allow_null=True, help_text="The credit limit in the currency's minor unit, null if there is none."
    )


class ItemErrorSerializer(serializers.JsonPartSerializer):
    """The reason why an item could not be read."""

    code = serializers.TextField(help_text="`E5004` if the bank must be linked or logged in to again, else `E5003`.")
    message = serializers.TextField()


class ItemStateSerializer(serializers.JsonPartSerializer):
    """A linked item, and whether it could be read."""

    item_id = serializers.TextField()
    status = serializers.OneOfField(
        [str(status) for status in ItemStatus],
        help_text="`ok`; `login_required`: get a link token for the item; `gone`: link the bank again; `bank_down`: "
        "retry later; `internal`: the operator has to repair it.",
    )
    error = ItemErrorSerializer(allow_null=True, help_text="Null if the status is `ok`.")


class BankAccountsSerializer(serializers.ResponseSerializer):
    """The accounts of all linked items."""

    accounts = BankAccountSerializer(many=True, help_text="The sum over every linked bank.")
    item_ids = serializers.ListField(child=serializers.TextField(), help_text="The items that were read.")
    items = ItemStateSerializer(many=True, help_text="Each linked item. One that fails does not hide the others.")
    total = serializers.Int64Field()


class BankTransactionSerializer(serializers.JsonPartSerializer):
    """A booking."""

    transaction_id = serializers.TextField(help_text="The booking's id, as the bank's provider has it.")
    account_id = serializers.TextField()
    item_id = serializers.TextField(allow_null=True, help_text="The linked bank; null where that is not known.")
    amount_cents = serializers.Int64Field(
        help_text="In the currency's minor unit. Positive when money left the account."
    )
    currency = serializers.TextField(allow_null=True, help_text="The ISO 4217 code, null if unknown.")
    exponent = serializers.Int32Field(
        help_text="The decimal places of the currency's minor unit, such as 2 for USD and 0 for JPY."
    )
    date = serializers.TextField(help_text="The day, such as 2026-01-31.")
    name = serializers.TextField(help_text="The text of the statement.")
    merchant_name = serializers.TextField(allow_null=True, help_text="The payee; null if unknown.")
    category = serializers.TextField(allow_null=True, help_text="The category; null if unknown.")
    pending = serializers.FlagField(help_text="Whether it is not booked yet.")


class BankTransactionsSerializer(serializers.PageSerializer):
    """One page of the bookings of all linked items, newest first."""

    transactions = BankTransactionSerializer(many=True, help_text="The newest first.")
    items = ItemStateSerializer(many=True, help_text="Each linked item. One that fails does not hide the others.")
