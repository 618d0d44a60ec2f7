from datetime import date
from typing import Any

from rest_framework import serializers

from config.api.serializers import (
    FlagField,
    IdField,
    Int64Field,
    PageQuery,
    QuerySerializer,
    RequestSerializer,
    ResponseSerializer,
    StrictListField,
    TextField,
)

TOKEN_MAX_LENGTH = 512


class DayField(TextField):
    """A calendar day, `2026-01-31`."""

    default_error_messages = {"day": "Must be a day such as 2026-01-31."}

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        try:
            day = date.fromisoformat(text).isoformat()
        except ValueError:
            day = ""
        if day != text:  # `fromisoformat` reads other spellings, too
            self.fail("day")
        return text


class BankAccountPayload(RequestSerializer):
    """A bank account; amounts are cents."""

    account_id = IdField()
    name = IdField()
    type = IdField(max_length=64)
    item_id = IdField(allow_null=True, required=False)
    official_name = TextField(max_length=255, allow_null=True, required=False)
    mask = TextField(max_length=16, allow_null=True, required=False)
    subtype = TextField(max_length=64, allow_null=True, required=False)
    currency = TextField(max_length=16, allow_null=True, required=False)
    available_cents = Int64Field(allow_null=True, required=False)
    current_cents = Int64Field(allow_null=True, required=False)
    limit_cents = Int64Field(allow_null=True, required=False)


class BankTransactionPayload(RequestSerializer):
    """A booking; `amount_cents` is positive when money left the account."""

    transaction_id = IdField()
    account_id = IdField()
    amount_cents = Int64Field()
    date = DayField()
    name = IdField()
    item_id = IdField(allow_null=True, required=False)
    currency = TextField(max_length=16, allow_null=True, required=False)
    merchant_name = TextField(max_length=255, allow_null=True, required=False)
    category = TextField(max_length=255, allow_null=True, required=False)
    pending = FlagField(required=False)


class LinkTokenBody(RequestSerializer):
    """Who links a bank."""

    user_id = IdField()


class ExchangeBody(RequestSerializer):
    """What Link returned, and whose it is."""

    public_token = TextField(min_length=1, max_length=TOKEN_MAX_LENGTH)
    user_id = IdField()


class AccountsQuery(QuerySerializer):
    access_token = TextField(
        min_length=1, max_length=TOKEN_MAX_LENGTH, required=False, help_text="Used instead of the stored tokens."
    )


class TransactionsQuery(PageQuery, AccountsQuery):
    pass


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
