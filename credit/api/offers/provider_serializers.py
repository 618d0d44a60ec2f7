"""Lenders, their members, and their links to application forms."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework.fields import empty

from config.api import serializers
from credit.api.applications.applicant_serializers import (
    ApplicantAddressRequestSerializer,
    ApplicantRequestSerializer,
    EmailField,
    PatternField,
    Whole,
)
from credit.core.agencies import AGENCIES
from credit.core.applicants import APPLICANTS_MAX
from credit.core.eu_credit import LENDER_FIELDS
from credit.core.logos import BASE64_MAX_LENGTH, MAX_BYTES, PNG_SIDE_MAX, TOO_LARGE, NotALogo, read_base64
from credit.models.offers import Provider, ProviderInvitation, ProviderMember
from credit.offers.links import EXPIRES_IN_HOURS_MAX, PREFILL_MAX_BYTES


@extend_schema_field({"type": "string", "format": "byte", "maxLength": BASE64_MAX_LENGTH})
class LogoField(serializers.TextField):
    """A PNG or SVG file in Base64. If the field is absent, the logo does not change. Null removes it."""

    default_error_messages = {"max_length": TOO_LARGE}

    def __init__(self) -> None:
        super().__init__(
            max_length=BASE64_MAX_LENGTH,
            required=False,
            allow_null=True,
            help_text=f"The lender's logo as Base64: a PNG of at most {PNG_SIDE_MAX:,} by {PNG_SIDE_MAX:,} pixels, or "
            f"an SVG without scripts, animations, or references to other files. The file has at most {MAX_BYTES:,} "
            "bytes. Omit the field to keep the current logo. Null removes the logo.",
        )

    def run_validation(self, data: Any = empty) -> Any:
        text = super().run_validation(data)
        try:
            return text if text is None else read_base64(text)
        except NotALogo as refusal:
            raise serializers.ValidationError(str(refusal)) from None


def logo_url() -> serializers.TextField:
    return serializers.TextField(
        allow_null=True, help_text="The URL of the logo. A new logo has a new URL. Null if the lender has no logo."
    )


class ProviderSerializer(serializers.ModelResponseSerializer):
    """A lender that you are a member of, or are invited to."""

    membership = serializers.TextField(
        help_text="Your membership: `member` or `invited`. An invitation grants no rights until `POST …/members/me` "
        "accepts it."
    )
    logo_url = logo_url()

    class Meta:
        model = Provider
        fields = ["provider_id", "name", "logo_url", "owner_id", "created_at", "membership"]
        extra_kwargs = {"provider_id": {"source": "id"}}


class SupervisorRequestSerializer(Whole):
    """The authority that supervises a lender."""

    name = serializers.NameField(help_text="The authority's name.")
    address = serializers.TextField(min_length=1, max_length=500, help_text="The authority's postal address.")


class RedressRequestSerializer(Whole):
    """The organization that handles out-of-court complaints."""

    name = serializers.NameField(help_text="The organization's name.")
    url = PatternField(
        r"https?://[!-~]{1,490}",
        wanted="a URL such as https://ombudsman.example",
        max_length=500,
        help_text="The URL of the organization's website.",
    )


class ProviderRequestSerializer(serializers.RequestSerializer):
    """A lender to create or update."""

    requires = ("name",)
    # An offer with the `regime` `ccd2` or `ccd2_small` requires the fields from `phone` to `debt_advice`.
    phone = serializers.NameField(max_length=64, help_text="The lender's telephone number. Null if there is none.")
    email = EmailField(max_length=254, help_text="The lender's email address. Null if there is none.")
    register_number = serializers.NameField(
        help_text="The register and the number of the lender's registration. Null if there is none."
    )
    supervisor = SupervisorRequestSerializer(
        help_text="The authority that supervises the lender. Null if there is none."
    )
    redress = RedressRequestSerializer(
        help_text="The organization that handles out-of-court complaints. Null if there is none."
    )
    debt_advice = serializers.TextField(
        min_length=1, max_length=1000, help_text="Where borrowers get debt advice. Null if there is none."
    )
    name = serializers.NameField(help_text="The lender's public name. It must not look like another lender's name.")
    address = serializers.LinesField(max_length=500, default="", help_text="The lender's postal address, for notices.")
    agency = serializers.OneOfField(
        AGENCIES,
        help_text="The Federal agency that enforces Regulation B for this lender, for notices (12 CFR 1002, appendix "
        "A). Null means the installation's default (`NOTICE_AGENCY`).",
    )
    logo = LogoField()


class SupervisorSerializer(serializers.JsonPartSerializer):
    """The authority that supervises a lender."""

    name = serializers.TextField(help_text="The authority's name.")
    address = serializers.TextField(help_text="The authority's postal address.")


class RedressSerializer(serializers.JsonPartSerializer):
    """The organization that handles out-of-court complaints."""

    name = serializers.TextField(help_text="The organization's name.")
    url = serializers.TextField(help_text="The URL of the organization's website.")


class NewProviderSerializer(serializers.ModelResponseSerializer):
    """A lender, with its contact data."""

    supervisor = SupervisorSerializer(
        allow_null=True, help_text="The authority that supervises the lender. Null if there is none."
    )
    redress = RedressSerializer(
        allow_null=True, help_text="The organization that handles out-of-court complaints. Null if there is none."
    )
    logo_url = logo_url()

    class Meta:
        model = Provider
        fields = ["id", "name", "address", "agency", *LENDER_FIELDS, "logo_url", "owner_id", "created_at"]
        extra_kwargs = {
            "id": {"help_text": "The lender's id. `provider_id` is a string in offers, and an integer in applications."}
        }


def _optional(fields: dict[str, Any]) -> dict[str, Any]:
    for field in fields.values():
        field.required, field.default = False, empty
    return fields


class PrefilledAddressSerializer(ApplicantAddressRequestSerializer):
    """The known parts of an applicant's address."""

    def get_fields(self) -> dict[str, Any]:
        return _optional(super().get_fields())

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return attrs


class PrefilledApplicantSerializer(ApplicantRequestSerializer):
    """The known data of an applicant. Each field is optional."""

    address = PrefilledAddressSerializer(help_text="The applicant's residential address.")

    def get_fields(self) -> dict[str, Any]:
        return _optional(super().get_fields())


class PrefillSerializer(Whole):
    """The prefilled answers of the form."""

    application_data = serializers.DictField(
        child=serializers.FreeField(),
        default=dict,
        help_text="Values of fields of the offer's schema, of `amount_cents`, and of `term_months`.",
    )
    applicants = serializers.ListField(
        child=PrefilledApplicantSerializer(),
        max_length=APPLICANTS_MAX,
        default=list,
        help_text="The known data of up to two applicants.",
    )


class ApplicationLinkRequestSerializer(serializers.RequestSerializer):
    """The offer of an application form, and the prefilled answers."""

    refuses_unknown = True
    offer_id = serializers.Int64Field(help_text="The id of an active offer of the lender.")
    prefill = PrefillSerializer(
        required=False, help_text=f"Answers that the applicant checks: at most {PREFILL_MAX_BYTES:,} bytes as JSON."
    )
    expires_in_hours = serializers.Int32Field(
        min_value=1, max_value=EXPIRES_IN_HOURS_MAX, default=168, help_text="The lifetime of the link in hours."
    )


class ApplicationLinkSerializer(serializers.ResponseSerializer):
    """A link to the form of an application."""

    url = serializers.TextField(help_text="The URL to open in a browser.")
    expires_at = serializers.DateTimeField(help_text="When the link expires (UTC).")


class ProvidersPageSerializer(serializers.PageSerializer):
    """A page of lenders."""

    providers = ProviderSerializer(
        many=True, help_text="The lenders that you are a member of, or are invited to, oldest first."
    )


class MemberRequestSerializer(serializers.RequestSerializer):
    """An invitation of a member."""

    username = serializers.IdField(help_text="The user name of the invited account.")
    role = serializers.OneOfField(
        ProviderMember.ROLES, default=ProviderMember.REVIEWER, help_text="The role that the invitation grants."
    )


class RoleRequestSerializer(serializers.RequestSerializer):
    """The new role of a member."""

    role = serializers.OneOfField(ProviderMember.ROLES, help_text="The new role.")


class InvitationSentSerializer(serializers.ResponseSerializer):
    """The result of an invitation. The result is the same for known and unknown user names."""

    username = serializers.TextField(help_text="The user name, as sent.")
    invited = serializers.FlagField(help_text="Always true.")


class InvitationSerializer(serializers.ModelResponseSerializer):
    """An invitation by user name that is not accepted yet.

    The response doesn't disclose whether the user name exists.
    """

    username = serializers.TextField(help_text="The invited user name, as sent.")
    expires_at = serializers.DateTimeField(help_text="When the invitation expires (UTC).")

    class Meta:
        model = ProviderInvitation
        fields = ["id", "username", "role", "invited_at", "expires_at"]
        extra_kwargs = {
            "id": {"help_text": "The invitation's id, which `DELETE …/invitations/{invitation_id}` requires."}
        }


class MemberSerializer(serializers.ModelResponseSerializer):
    """An account that acts on behalf of a lender."""

    username = serializers.TextField(source="user.username")
    role = serializers.TextField()
    is_owner = serializers.FlagField(help_text="Whether the lender belongs to this account.")

    class Meta:
        model = ProviderMember
        fields = ["user_id", "username", "role", "is_owner"]
        extra_kwargs = {"user_id": {"help_text": "The member's `user_id`."}}


class MembersPageSerializer(serializers.PageSerializer):
    """A page of a lender's members."""

    members = MemberSerializer(many=True, help_text="The members, in the order in which they joined.")
    invitations = InvitationSerializer(
        many=True,
        help_text="The open invitations by user name, at most 50, on every page. Empty for members without the role "
        "`owner`.",
    )
    total = serializers.Int64Field(help_text="The number of members on all pages, without the invitations.")
