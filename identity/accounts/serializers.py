"""Serializers of invitations, managed accounts, and privacy rights."""

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
        meanings = " ".join(f"`{role.name}`: {role.meaning}." for role in roles().values())
        super().__init__(tuple(roles()), help_text=f"The role. {meanings}", **options)


class AccountInvitationRequestSerializer(serializers.RequestSerializer):
    """An invitation to send."""

    email = serializers.TextField(min_length=3, max_length=ADDRESS_MAX, help_text="The recipient's address.")
    role = RoleField()
    provider_id = serializers.PrintableIdField(
        min_length=0,
        default="",
        help_text="The id of the lender. Required if the role is `owner`, `reviewer`, `reader`, or `member`. Empty for "
        "other roles.",
    )
    group = serializers.PrintableIdField(
        min_length=0,
        default="",
        help_text="The group that an account with the role `staff` joins. Empty for other roles.",
    )


class AccountInvitationSerializer(serializers.ModelResponseSerializer):
    """An invitation that the caller has sent."""

    role = RoleField()
    state = serializers.OneOfField(
        STATES, help_text="The state of the invitation. The link works once, while the state is `waiting`."
    )

    class Meta:
        model = Invitation
        fields = ["id", "email", "role", "provider_id", "group", "state", "created_at", "expires_at", "accepted_at"]


class AccountInvitationsPageSerializer(serializers.PageSerializer):
    """A page of the invitations that the caller has sent."""

    invitations = AccountInvitationSerializer(many=True, help_text="The invitations, newest first.")


class ManagedAccountRequestSerializer(serializers.RequestSerializer):
    """An account to create for a customer."""

    external_id = serializers.PrintableIdField(
        help_text="Your id of the customer. While you have access to the account, a request with the same id returns "
        "the account again."
    )
    email = serializers.TextField(
        min_length=3,
        max_length=ADDRESS_MAX,
        **serializers.NULLABLE,
        help_text="The address that receives a link to claim the account; null sends no mail.",
    )
    name = serializers.WordsField(**serializers.NULLABLE, help_text="The customer's name.")


class ManagedAccountSerializer(serializers.ModelResponseSerializer):
    """An account that the caller has created for a customer."""

    class Meta:
        model = ManagedAccount
        fields = ["id", "external_id", "managed_by", "claimed_at", "created_at"]
        extra_kwargs = {
            "id": {"source": "user_id", "help_text": "The customer's `user_id`, for use in other requests."},
            "managed_by": {"source": "partner_id", "help_text": "The partner's user_id."},
        }


class ManagedAccountsPageSerializer(serializers.PageSerializer):
    """A page of the accounts that the caller can act on behalf of."""

    accounts = ManagedAccountSerializer(many=True, help_text="The accounts, newest first.")


class AccountFilter(serializers.FilterSet):
    external_id = serializers.QueryFilter(serializers.IdField(required=False, help_text="Your id of the customer."))


class AccountQuery(serializers.PageQuery):
    filterset_class = AccountFilter


class ActingTokenRequestSerializer(serializers.RequestSerializer):
    """A token to create for a customer."""

    scopes = serializers.ListField(
        child=serializers.OneOfField(ACTING_SCOPES),
        min_length=1,
        max_length=len(ACTING_SCOPES),
        help_text="The scopes of the token.",
    )


class ActingTokenSerializer(serializers.ResponseSerializer):
    """A token with which a partner acts on behalf of a customer."""

    access_token = serializers.TextField(
        help_text="A JWT: send it as `Authorization: Bearer`. The claim `act` of the token contains your account's id."
    )
    token_type = serializers.TextField(help_text="`Bearer`.")
    expires_in = serializers.Int64Field(help_text="The lifetime in seconds. The token can't be refreshed.")
    scope = serializers.TextField(help_text="The scopes of the token, separated by spaces.")


class ExportSerializer(serializers.ModelResponseSerializer):
    """A copy of an account's data."""

    download_url = serializers.TextField(
        allow_null=True,
        help_text="The URL of the zip, which requires the same credentials as this operation. Null unless the export "
        "is `ready`.",
    )

    class Meta:
        model = Export
        fields = ["id", "status", "created_at", "ready_at", "expires_at", "download_url"]


class ObstacleSerializer(serializers.ResponseSerializer):
    """A reason why an account can't be erased now."""

    reason = serializers.TextField(help_text="The reason, and how to resolve it.")
    until = serializers.TextField(
        allow_null=True, help_text="The next deadline of an open application (UTC). Null if there is none."
    )


class KeptRowsSerializer(serializers.ResponseSerializer):
    """The records that remain after an erasure, for one ground of retention."""

    ground = serializers.TextField(
        help_text="The name of the ground, as in `manage.py personal_data`. `decision_records` of versions 1 to 3 also "
        "contain the text of the reason."
    )
    rows = serializers.Int64Field(help_text="The number of retained records.")
    until = serializers.DayField(
        allow_null=True,
        help_text="The day on which the last record is erased. Null if the day is unknown, or if the records are never "
        "erased.",
    )


class AccountConsentSerializer(serializers.ModelResponseSerializer):
    """A consent of the account."""

    name = serializers.TextField(
        allow_null=True,
        help_text="The display name of the app, the bank, or the lender. If the vendor has no name for the bank, this "
        "is the name of an approved account of the bank. Null for electronic notices, for an unlinked bank that the "
        "vendor removed, and if no name is known.",
    )
    application_reference = serializers.TextField(
        allow_null=True,
        help_text="The reference of the application, such as `A-1B2C3D4E`. Null if the consent is not about an "
        "application.",
    )

    class Meta:
        model = Consent
        fields = [
            "id", "kind", "name", "application_reference", "scope", "text_sha256", "given_at", "ends_at", "ended_at",
        ]  # fmt: skip


class AccountConsentsPageSerializer(serializers.PageSerializer):
    """A page of the account's consents."""

    consents = AccountConsentSerializer(many=True, help_text="The consents, newest first.")


class ErasureSerializer(serializers.ModelResponseSerializer):
    """The erasure of an account."""

    id = serializers.UuidTextField(allow_null=True, help_text="The erasure's id; null if there is no erasure.")
    status = serializers.OneOfField(
        (Erasure.NONE, *Erasure.STATUSES),
        help_text="The status of the erasure. `none`: no erasure is requested. `requested`: it starts after 14 days. "
        "`waiting`: some records are retained until their ground ends, such as a law or an in-flight payment. `done`: "
        "only permanent records remain.",
    )
    requested_at = serializers.DateTimeField(
        allow_null=True, help_text="When the erasure was requested (UTC); null if there is no erasure."
    )
    due_at = serializers.DateTimeField(
        allow_null=True, help_text="The deadline of the erasure (UTC); null if there is no erasure."
    )
    obstacles = ObstacleSerializer(
        many=True,
        help_text="The obstacles that must end before the erasure can start. Empty once the erasure has started.",
    )
    kept = KeptRowsSerializer(
        many=True,
        help_text="The number of retained records for each ground. Before the erasure, the number of records that an "
        "erasure would retain now. Empty if `status` is `none`.",
    )

    class Meta:
        model = Erasure
        fields = ["id", "status", "requested_at", "due_at", "obstacles", "kept", "completed_at"]
