from config.api import serializers
from identity.providers.base import ItemStatus

TOKEN_MAX_LENGTH = 512
_CURRENCY_HELP = "The ISO 4217 code, or the vendor's code of another currency. Null if unknown."


class BankAccountPayload(serializers.RequestSerializer):
    """A bank account. Amounts are in cents."""

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
    """A bank transaction. `amount_cents` is positive for outgoing money."""

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
    """The account that links a bank, or logs in to a linked bank again."""

    user_id = serializers.IdField()
    item_id = serializers.IdField(
        allow_null=True, required=False, help_text="A linked item with status `login_required`, to log in again."
    )


class ExchangeRequestSerializer(serializers.RequestSerializer):
    """The public token from Plaid Link, and the user who links the bank."""

    public_token = serializers.TextField(
        min_length=1,
        max_length=TOKEN_MAX_LENGTH,
        help_text="The public token that Plaid Link returned in the browser. The sandbox vendor accepts "
        "`public-sandbox-<text>`.",
    )
    user_id = serializers.IdField()


class AccountsQuery(serializers.QuerySerializer):
    access_token = serializers.TextField(
        min_length=1,
        max_length=TOKEN_MAX_LENGTH,
        required=False,
        help_text="An access token of the vendor. The API uses this token instead of the stored tokens.",
    )


class TransactionsQuery(serializers.PageQuery, AccountsQuery):
    pass


class LinkTokenPageSerializer(serializers.ResponseSerializer):
    """A token that opens Plaid Link."""

    link_token = serializers.TextField(
        help_text="The token that opens Plaid Link in the browser. The sandbox vendor needs no token."
    )
    expiration = serializers.DateTimeField(help_text="When the token expires (UTC).")


class ExchangeSerializer(serializers.ResponseSerializer):
    """The linked item, and the staged accounts and transactions for you to approve."""

    item_id = serializers.TextField()
    linked = serializers.FlagField(help_text="Always true.")
    staged_item_ids = serializers.ListField(
        child=serializers.TextField(), help_text="The staged items for you to approve; empty if there are none."
    )


class BankAccountSerializer(serializers.JsonPartSerializer):
    """A bank account."""

    account_id = serializers.TextField()
    item_id = serializers.TextField()
    name = serializers.TextField()
    official_name = serializers.TextField(
        allow_null=True, help_text="The bank's name for the account; null if unknown."
    )
    mask = serializers.TextField(allow_null=True, help_text="The last digits of the account number; null if unknown.")
    type = serializers.TextField(help_text="The type of the account, such as `depository` or `credit`.")
    subtype = serializers.TextField(
        allow_null=True, help_text="The subtype of the account, such as `checking`; null if unknown."
    )
    institution_id = serializers.TextField(allow_null=True, help_text="The bank's id at the vendor, null if unknown.")
    institution_name = serializers.TextField(allow_null=True, help_text="The bank's name, null if unknown.")
    persistent_account_id = serializers.TextField(
        allow_null=True, help_text="An id that stays the same when the account is linked again; null if unknown."
    )
    currency = serializers.TextField(allow_null=True, help_text=_CURRENCY_HELP)
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
    """The reason why the item can't be read."""

    code = serializers.TextField(
        help_text="The code of the error. `E5004` if the owner must link the bank again, or log in to the bank again. "
        "Otherwise `E5003`."
    )
    message = serializers.TextField()


class ItemStateSerializer(serializers.JsonPartSerializer):
    """A linked item and its status."""

    item_id = serializers.TextField()
    status = serializers.OneOfField(
        [str(status) for status in ItemStatus],
        help_text="The status of the item. `ok`: the API read the item. `login_required`: get a link token for the "
        "item. `gone`: link the bank again. `bank_down`: retry later. `internal`: the platform can't read the item. "
        "Link the bank again if `error.code` is `E5004`, otherwise contact the operator.",
    )
    error = ItemErrorSerializer(allow_null=True, help_text="The error of the item. Null if the status is `ok`.")


class BankAccountsSerializer(serializers.ResponseSerializer):
    """The accounts of all linked items, or of the item that `access_token` identifies."""

    accounts = BankAccountSerializer(many=True, help_text="The accounts of the items that were read.")
    item_ids = serializers.ListField(child=serializers.TextField(), help_text="The items that were read.")
    items = ItemStateSerializer(many=True, help_text="Each requested item, even if it can't be read.")
    total = serializers.Int64Field(help_text="The number of accounts.")


class BankTransactionSerializer(serializers.JsonPartSerializer):
    """A bank transaction."""

    transaction_id = serializers.TextField(help_text="The vendor's id of the transaction.")
    account_id = serializers.TextField()
    item_id = serializers.TextField(allow_null=True, help_text="The linked bank; null if unknown.")
    amount_cents = serializers.Int64Field(
        help_text="The amount in the currency's minor unit. Positive if money left the account."
    )
    currency = serializers.TextField(allow_null=True, help_text=_CURRENCY_HELP)
    exponent = serializers.Int32Field(
        help_text="The decimal places of the currency's minor unit, such as 2 for USD and 0 for JPY."
    )
    date = serializers.TextField(help_text="The date, such as 2026-01-31.")
    name = serializers.TextField(help_text="The description on the bank statement.")
    merchant_name = serializers.TextField(allow_null=True, help_text="The payee; null if unknown.")
    category = serializers.TextField(allow_null=True, help_text="The category; null if unknown.")
    pending = serializers.FlagField(help_text="Whether the transaction is not posted yet.")


class BankTransactionsSerializer(serializers.PageSerializer):
    """A page of transactions, newest first: of all linked items, or of the item that `access_token` identifies."""

    transactions = BankTransactionSerializer(many=True, help_text="The transactions, newest first.")
    items = ItemStateSerializer(many=True, help_text="Each requested item that is linked, even if it can't be read.")
    total = serializers.Int64Field(help_text="The number of transactions on all pages.")
