"""Bodies, queries and answers of bank data. Amounts are integer cents."""

from rest_framework import serializers

from config.api.fields import FlagField, IdField, Int64Field, StrictListField, TextField
from config.api.serializers import PageQuery, QuerySerializer, RequestSerializer, ResponseSerializer

TOKEN_MAX_LENGTH = 512


class LinkTokenBody(RequestSerializer):
    """Who links a bank."""

    user_id = IdField()


class ExchangeBody(RequestSerializer):
    """What Link returned, and whose it is."""

    public_token = TextField(min_length=1, max_length=TOKEN_MAX_LENGTH)
    user_id = IdField()


class AccountsQuery(QuerySerializer):
    """An access token to use instead of the stored ones."""

    access_token = TextField(
        min_length=1, max_length=TOKEN_MAX_LENGTH, required=False, help_text="Used instead of the stored tokens."
    )


class TransactionsQuery(PageQuery):
    """A page, and an access token to use instead of the stored ones."""

    access_token = TextField(
        min_length=1, max_length=TOKEN_MAX_LENGTH, required=False, help_text="Used instead of the stored tokens."
    )


class LinkTokenAnswer(ResponseSerializer):
    """What Link opens with."""

    link_token = TextField()
    expiration = serializers.DateTimeField()


class ExchangeAnswer(ResponseSerializer):
    """The linked item, and its accounts where they wait for the person's yes."""

    item_id = TextField()
    linked = FlagField()
    staged_item_ids: StrictListField = StrictListField(child=TextField())


class BankAccountAnswer(ResponseSerializer):
    """A bank account."""

    account_id = TextField()
    item_id = TextField()
    name = TextField()
    official_name = TextField(allow_null=True)
    mask = TextField(allow_null=True, help_text="The last digits of the account's number.")
    type = TextField()
    subtype = TextField(allow_null=True)
    currency = TextField(allow_null=True)
    available_cents = Int64Field(allow_null=True)
    current_cents = Int64Field(allow_null=True)
    limit_cents = Int64Field(allow_null=True)


class BankAccountsAnswer(ResponseSerializer):
    """The accounts of all linked items."""

    accounts = BankAccountAnswer(many=True)
    item_ids: StrictListField = StrictListField(child=TextField())
    total = Int64Field()


class BankTransactionAnswer(ResponseSerializer):
    """A booking."""

    transaction_id = TextField()
    account_id = TextField()
    item_id = TextField(allow_null=True)
    amount_cents = Int64Field(help_text="Positive when money left the account.")
    currency = TextField(allow_null=True)
    date = TextField()
    name = TextField()
    merchant_name = TextField(allow_null=True)
    category = TextField(allow_null=True)
    pending = FlagField()


class BankTransactionsAnswer(ResponseSerializer):
    """One page of the bookings of all linked items, newest first."""

    transactions = BankTransactionAnswer(many=True)
    total = Int64Field()
    has_more = FlagField()
