"""Bodies and answers about invitations, and about accounts that a partner manages."""

from typing import Any

from config.api import serializers
from identity.access.scopes import ACTING_SCOPES
from identity.accounts.addresses import ADDRESS_MAX
from identity.accounts.roles import roles

STATES = ("waiting", "accepted", "revoked", "expired")


class RoleField(serializers.OneOfField):
    """Roles that apps offer for invitations."""

    def __init__(self, **options: Any) -> None:
        meanings = ", ".join(f"`{role.name}` ({role.meaning})" for role in roles().values())
        super().__init__(tuple(roles()), help_text=f"One of {meanings}.", **options)


class AccountInvitationRequestSerializer(serializers.RequestSerializer):
    """An invitation to send."""

    email = serializers.TextField(min_length=3, max_length=ADDRESS_MAX, help_text="The recipient's address.")
    role = RoleField()
    provider_id = serializers.PrintableIdField(
        min_length=0, default="", help_text="The provider that a `member` is to act for."
    )
    group = serializers.PrintableIdField(min_length=0, default="", help_text="The group that `staff` are to belong to.")


class AccountInvitationSerializer(serializers.ResponseSerializer):
    """An invitation that the caller has sent."""

    id = serializers.UUIDField(help_text="The invitation's id.")
    email = serializers.TextField(help_text="Who was written to.")
    role = RoleField()
    provider_id = serializers.TextField(help_text="The provider that a `member` is to act for; else empty.")
    group = serializers.TextField(help_text="The group that `staff` are to belong to; else empty.")
    state = serializers.OneOfField(STATES, help_text="While it is `waiting` its link works, once.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(help_text="Until when it can be accepted (UTC).")
    accepted_at = serializers.DateTimeField(allow_null=True, help_text="When it was (UTC); null: not.")


class AccountInvitationsPageSerializer(serializers.PageSerializer):
    """A page of the invitations that the caller has sent."""

    invitations = AccountInvitationSerializer(many=True, help_text="The newest first.")


class ManagedAccountRequestSerializer(serializers.RequestSerializer):
    """An account to make for a customer."""

    external_id = serializers.PrintableIdField(
        help_text="Your id for the person: the same id returns the same account."
    )
    email = serializers.TextField(
        min_length=3,
        max_length=ADDRESS_MAX,
        allow_null=True,
        default=None,
        help_text="Where the person is written to how to claim the account; null: nowhere.",
    )
    name = serializers.PrintableIdField(allow_null=True, default=None, help_text="What the person is called.")


class ManagedAccountSerializer(serializers.ResponseSerializer):
    """An account that the caller has created for a customer."""

    id = serializers.TextField(source="pk", help_text="The person's user_id, which other bodies name.")
    external_id = serializers.TextField(help_text="What you call the person.")
    managed_by = serializers.TextField(source="partner_id", help_text="The user_id of whoever made the account.")
    claimed_at = serializers.DateTimeField(
        allow_null=True, help_text="When the person took it over (UTC); null: not yet."
    )
    created_at = serializers.DateTimeField()


class ManagedAccountsPageSerializer(serializers.PageSerializer):
    """A page of the accounts that the caller may act for."""

    accounts = ManagedAccountSerializer(many=True, help_text="The newest first.")


class AccountFilter(serializers.FilterSet):
    external_id = serializers.QueryFilter(serializers.IdField(required=False, help_text="Your id for the person."))


class AccountQuery(serializers.PageQuery):
    filterset_class = AccountFilter


class ActingTokenRequestSerializer(serializers.RequestSerializer):
    """Your planned actions on behalf of the person."""

    scopes = serializers.ListField(
        child=serializers.OneOfField(ACTING_SCOPES),
        min_length=1,
        max_length=len(ACTING_SCOPES),
        help_text="The scopes of the token.",
    )


class ActingTokenSerializer(serializers.ResponseSerializer):
    """A token with which a partner acts for a person."""

    access_token = serializers.TextField(help_text="A JWT: send it as `Authorization: Bearer`. It names you in `act`.")
    token_type = serializers.TextField(help_text="`Bearer`.")
    expires_in = serializers.Int64Field(help_text="How long it lasts, in seconds. It cannot be refreshed.")
    scope = serializers.TextField(help_text="The scopes of the token, separated by blanks.")
