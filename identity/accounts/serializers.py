"""Bodies and answers about invitations, and about accounts that a partner manages."""

from typing import Any

from config.api import serializers
from identity.access.consents import Consent
from identity.access.scopes import ACTING_SCOPES
from identity.accounts.addresses import ADDRESS_MAX
from identity.accounts.models import Erasure, Export, Invitation, ManagedAccount
from identity.accounts.roles import roles

STATES = ("waiting", "accepted", "revoked", "expired")


class RoleField(serializers.OneOfField):
    """Roles that apps offer for invitations."""

    def __init__(self, **options: Any) -> None:
        meanings = ", ".join(f"`{role.name}` ({role.meaning})" for role in roles().values())
        super().__init__(tuple(roles()), help_text=f"One of: {meanings}.", **options)


class AccountInvitationRequestSerializer(serializers.RequestSerializer):
    """An invitation to send."""

    email = serializers.TextField(min_length=3, max_length=ADDRESS_MAX, help_text="The recipient's address.")
    role = RoleField()
    provider_id = serializers.PrintableIdField(
        min_length=0, default="", help_text="The provider that a `member` is to act for."
    )
    group = serializers.PrintableIdField(min_length=0, default="", help_text="The group that `staff` are to belong to.")


class AccountInvitationSerializer(serializers.ModelResponseSerializer):
    """An invitation that the caller has sent."""

    role = RoleField()
    state = serializers.OneOfField(STATES, help_text="The link works once, while the invitation is `waiting`.")

    class Meta:
        model = Invitation
        fields = ["id", "email", "role", "provider_id", "group", "state", "created_at", "expires_at", "accepted_at"]


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
    name = serializers.WordsField(allow_null=True, default=None, help_text="The person's name.")


class ManagedAccountSerializer(serializers.ModelResponseSerializer):
    """An account that the caller has created for a customer."""

    class Meta:
        model = ManagedAccount
        fields = ["id", "external_id", "managed_by", "claimed_at", "created_at"]
        extra_kwargs = {
            "id": {"source": "user_id", "help_text": "The customer's user_id, which other requests name."},
            "managed_by": {"source": "partner_id", "help_text": "The partner's user_id."},
        }


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


class ExportSerializer(serializers.ModelResponseSerializer):
    """A copy of an account's data."""

    download_url = serializers.TextField(
        allow_null=True, help_text="The address of the zip, with the same credentials; null unless it is `ready`."
    )

    class Meta:
        model = Export
        fields = ["id", "status", "created_at", "ready_at", "expires_at", "download_url"]


class ObstacleSerializer(serializers.ResponseSerializer):
    """A reason why an account can't be erased now."""

    reason = serializers.TextField(help_text="The reason, and how to end it.")
    until = serializers.TextField(allow_null=True, help_text="When it ends by itself (UTC); null if that is not known.")


class KeptRowsSerializer(serializers.ResponseSerializer):
    """The rows that one ground keeps after an erasure."""

    ground = serializers.TextField(help_text="The name of the ground, as in `manage.py personal_data`.")
    rows = serializers.Int64Field(help_text="The number of rows that are kept.")
    until = serializers.DayField(
        allow_null=True, help_text="The day on which the last one is erased; null without a known day."
    )


class AccountConsentSerializer(serializers.ModelResponseSerializer):
    """A consent of the account."""

    class Meta:
        model = Consent
        fields = ["id", "kind", "scope", "text_sha256", "given_at", "ends_at", "ended_at"]


class AccountConsentsPageSerializer(serializers.PageSerializer):
    """A page of the account's consents."""

    consents = AccountConsentSerializer(many=True, help_text="The newest first.")


class ErasureSerializer(serializers.ModelResponseSerializer):
    """The erasure of an account."""

    id = serializers.UuidTextField(allow_null=True, help_text="The erasure's id; null without an erasure.")
    status = serializers.OneOfField(
        (Erasure.NONE, *Erasure.STATUSES),
        help_text="`none`: no erasure is requested. `requested`: it starts after 14 days. `waiting`: a law keeps some "
        "records. `done`: everything is erased.",
    )
    requested_at = serializers.DateTimeField(
        allow_null=True, help_text="When the erasure was requested (UTC); null without an erasure."
    )
    due_at = serializers.DateTimeField(
        allow_null=True, help_text="The time by which the erasure must be made (UTC); null without an erasure."
    )
    obstacles = ObstacleSerializer(
        many=True, help_text="What must end before the erasure can start; empty once it has started."
    )
    kept = KeptRowsSerializer(
        many=True,
        help_text="The rows that a ground keeps, or would keep if the erasure started now. Empty with `none`.",
    )

    class Meta:
        model = Erasure
        fields = ["id", "status", "requested_at", "due_at", "obstacles", "kept", "completed_at"]
