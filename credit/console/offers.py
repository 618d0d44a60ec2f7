from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.backoffice.consoles import console_of, may
from config.backoffice.forms import SeenForm
from config.backoffice.html import NAMED_VALUES, NOTHING, chip, column, details, table, without_link, words
from config.backoffice.html import title_of as field_title
from config.backoffice.records import NamedRecords, RecordAction
from config.backoffice.transitions import actor_of
from config.core.names import clean_words
from credit.console.offer_forms import CHANGE, DEACTIVATE, LAWS, MAKE
from credit.core.figures import money
from credit.core.jurisdictions import Conventions
from credit.core.logos import MAX_BYTES, PNG_SIDE_MAX, Logo, NotALogo, read_logo
from credit.core.profile import title_of
from credit.models import Offer, Provider, ProviderMember
from credit.offers.providers import change_logo, change_provider, role_of
from identity.accounts.addresses import ADDRESS_MAX
from identity.accounts.invitations import invite, revoke
from identity.accounts.models import Invitation


class LogoForm(SeenForm):
    logo = forms.FileField(
        label="File",
        widget=forms.FileInput(attrs={"accept": ".png,.svg"}),
        help_text=f"A PNG of at most {PNG_SIDE_MAX:,} by {PNG_SIDE_MAX:,} pixels, or a plain SVG. At most "
        f"{MAX_BYTES // 1024} KiB.",
    )

    def clean_logo(self) -> Logo:
        file: Any = self.cleaned_data["logo"]
        try:
            return read_logo(file.read(MAX_BYTES + 1))
        except NotALogo as refusal:
            raise ValidationError(str(refusal)) from refusal


def _set(request: HttpRequest, provider: Provider, form: Any) -> str:
    change_logo(provider.pk, form.cleaned_data["logo"], by=actor_of(request))
    return "The logo is stored."


def _remove(request: HttpRequest, provider: Provider, _form: Any) -> str:
    change_logo(provider.pk, None, by=actor_of(request))
    return "The logo is removed."


SET_LOGO = RecordAction(
    name="logo",
    label="Upload a logo",
    permission="credit.view_provider",
    run=_set,
    form=LogoForm,
    seen=lambda provider: str(provider.logo_sha256),
    consequences=lambda _provider: [
        "Applicants see the logo next to your offers, in your contact data, and on the page where they accept a loan.",
        "The header of your console shows it.",
    ],
)


class AddressForm(SeenForm):
    postal_address = forms.CharField(
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="The address for notices and agreements.",
    )

    def clean_postal_address(self) -> str:
        lines = [line for line in self.cleaned_data["postal_address"].splitlines() if line.strip()]
        try:
            address = "\n".join(clean_words(line) for line in lines)
        except ValueError as refusal:
            raise ValidationError(str(refusal)) from refusal
        return address


def _set_address(request: HttpRequest, provider: Provider, form: Any) -> str:
    by, address = actor_of(request), form.cleaned_data["postal_address"]
    change_provider(provider.pk, name=provider.name, address=address, by=by)
    return "The postal address is stored."


def _why_no_address(provider: Provider) -> str:
    if "name" in provider.lacks_for_notices:
        return f"Set the lender's name first, with PUT /v1/providers/{provider.pk}."
    return ""


SET_ADDRESS = RecordAction(
    name="address",
    label="Set the postal address",
    permission="credit.view_provider",
    run=_set_address,
    form=AddressForm,
    refusal=_why_no_address,
    seen=lambda provider: repr((provider.name, provider.address)),  # without line breaks, which browsers change
    initial=lambda provider: {"postal_address": provider.address},
    consequences=lambda _provider: [
        "Later notices and agreements contain the address. Applications can't be decided without it.",
    ],
)
REMOVE_LOGO = RecordAction(
    name="remove-logo",
    label="Remove the logo",
    permission="credit.view_provider",
    run=_remove,
    refusal=lambda provider: "" if provider.logo_sha256 else "There is no logo.",
    seen=lambda provider: str(provider.logo_sha256),
    consequences=lambda _provider: ["Pages then show only your name."],
)


INVITATIONS_SHOWN = 50
ROLES_HELP = "A reader reads applications. A reviewer also decides. An owner also manages members and offers."


def in_brief(terms: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the terms that are set, with readable names. A schema is displayed as the titles of its fields."""
    shown = {**terms}
    if schema := shown.get("application_schema"):
        shown["application_schema"] = [title_of(name, member) for name, member in schema["properties"].items()]
    conventions = Conventions.of(terms)
    return [_figure(name, value, conventions) for name, value in shown.items() if value not in (None, "")]


def _figure(name: str, value: Any, conventions: Conventions) -> tuple[str, Any]:
    """Return a term's readable name and value. Amounts have a currency, and percentages have two decimals."""
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if is_number and name.endswith("_cents"):
        return field_title(name), money(int(value), conventions.shown_currency)
    if is_number and name.endswith("_percent"):
        title = field_title(name)
        return title.replace("APR", "Rate") if conventions.is_eu else title, f"{value:.2f} %"
    if name == "jurisdiction":
        return "Law", LAWS.get(value, value)
    return field_title(name), words(value) if name in NAMED_VALUES else value


@admin.register(Offer)
class OfferAdmin(NamedRecords):
    list_display = ("name", "state", "credit_kind", "provider_id", "owner", "version", "updated_at")
    list_filter = ("is_active",)
    list_select_related = ("owner",)
    search_fields = ("=provider__id",)
    search_help_text = "Words of a lender's name, or its id"
    ordering = ("-id",)
    fieldsets = (
        (None, {"fields": ("id", "state", "name", "description", "product_type", "provider", "owner", "version")}),
        ("Terms", {"fields": ("terms",)}),
        ("When", {"fields": ("created_at", "updated_at")}),
    )

    credit_kind = column(words, "product_type", "kind of credit", ordering="product_type")

    @admin.display(description="state", ordering="is_active")
    def state(self, record: Any) -> SafeString | str:
        return chip("active" if record.is_active else "inactive")

    record_actions = (CHANGE, DEACTIVATE)

    def actions_of(self, request: HttpRequest, record: Offer) -> list[RecordAction]:
        """Return the actions if the user created the offer and is an owner of the lender."""
        is_own = record.owner_id == request.user.pk
        if not is_own or role_of(record.provider, request.user) != ProviderMember.OWNER:
            return []
        return super().actions_of(request, record)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Show a button to create an offer to owners of a lender. The lender's page has the same action."""
        console = console_of(request.user)
        owned = [seat.provider_id for seat in console.seats if seat.owns] if console else []
        tools = {"Create an offer": reverse("admin:credit_provider_do", args=[owned[0], MAKE.name])} if owned else {}
        return super().changelist_view(request, {"tools": tools.items(), **(extra_context or {})})

    @admin.display(description="terms")
    def terms(self, record: Offer) -> SafeString | str:
        shown = {"name", "description", "product_type", "provider_id"}
        return table(in_brief({name: value for name, value in record.terms().items() if name not in shown}))


def may_change_members(request: HttpRequest, provider: Provider | None) -> bool:
    """Return whether the user can manage a lender's members, as an owner or as a superuser.

    Members can review applications, so the permission to manage lenders must not allow staff to add themselves.
    """
    console = console_of(request.user)
    if console is not None:
        return provider is not None and console.owns(provider.pk)
    is_owner = provider is not None and role_of(provider, request.user) == ProviderMember.OWNER
    return is_owner or bool(getattr(request.user, "is_superuser", False))


class MembersForm(forms.BaseInlineFormSet):  # type: ignore[type-arg]
    def clean(self) -> None:
        super().clean()
        for form in self.forms:
            loses = form in self.deleted_forms or form.instance.role != ProviderMember.OWNER
            if form.instance.pk and form.instance.user_id == self.instance.owner_id and loses:
                raise forms.ValidationError("The account that created the lender must remain an owner.")


class ProviderMemberInline(admin.StackedInline):  # type: ignore[type-arg]
    """The members of a lender. Owners can change the members' roles and remove members.

    Owners invite members by mail, so that every member has accepted an invitation, and no list of accounts is shown.
    """

    model = ProviderMember
    formset = MembersForm
    autocomplete_fields = ("user",)
    extra = 0
    verbose_name = "member"
    verbose_name_plural = "members"

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Make the role optional. Without a role, the default role applies."""
        shown: Any = super().formfield_for_dbfield(db_field, request, **options)
        if db_field.name == "role" and shown is not None:
            shown.required = False
            shown.choices = [(role, role) for role in ProviderMember.ROLES]
            shown.help_text = ROLES_HELP
        return shown

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return [*(self.get_readonly_fields(request, obj) or ["user"]), "role"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        return [] if console_of(request.user) is None else [without_link(ProviderMember._meta, "user")]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return may(request.user, "credit.view_provider")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return console_of(request.user) is None and may_change_members(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_change_members(request, obj)

    has_delete_permission = has_change_permission


class InviteForm(SeenForm):
    email = forms.EmailField(label="E-mail address", max_length=ADDRESS_MAX)
    role = forms.ChoiceField(
        choices=[(role, role) for role in (ProviderMember.REVIEWER, ProviderMember.READER, ProviderMember.OWNER)],
        help_text=ROLES_HELP,
    )


def _invite(request: HttpRequest, provider: Provider, form: Any) -> str:
    email, role = form.cleaned_data["email"], form.cleaned_data["role"]
    invite(actor=actor_of(request), email=email, role=role, provider_id=provider.pk, now=timezone.now())
    return "The invitation was sent by mail."


def _waiting(provider: Provider) -> QuerySet[Invitation]:
    return Invitation.objects.waiting_at(timezone.now()).filter(provider_id=provider.pk).order_by("-id")


class RevokeForm(SeenForm):
    invitation = forms.ChoiceField()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        field: Any = self.fields["invitation"]
        field.choices = self.initial["waiting"]


def _revoke(request: HttpRequest, provider: Provider, form: Any) -> str:
    invitation = _waiting(provider).filter(pk=form.cleaned_data["invitation"]).first()
    if invitation is None:
        raise ValidationError("The invitation has already ended.")
    revoke(invitation, actor=actor_of(request), now=timezone.now())
    return "The invitation was revoked."


@admin.register(Provider)
class ProviderAdmin(NamedRecords):
    """The admin of lenders. On a lender's page, owners and superusers add and remove members."""

    list_display = ("id", "name", "owner", "created_at")
    list_select_related = ("owner",)
    search_fields = ("=id", "owner__username")
    search_help_text = "A lender's id, words of its name, or its owner's user name"
    ordering = ("-created_at",)
    fields = readonly_fields = (
        "id", "name", "logo", "address", "agency", "phone", "email", "register_number", "supervisor_shown",
        "redress_shown", "debt_advice", "owner", "created_at",
    )  # fmt: skip
    supervisor_shown = column(details, "supervisor", "supervisor")
    redress_shown = column(details, "redress", "out-of-court redress")
    inlines = (ProviderMemberInline,)
    change_form_template = "credit/backoffice_provider.html"
    record_actions = (
        RecordAction(
            name="invite",
            label="Invite a member",
            permission="credit.view_provider",
            run=_invite,
            form=InviteForm,
            consequences=lambda _provider: [
                f"The platform sends a link by mail. It works once, within {Invitation.VALID_FOR.days} days.",
                "The recipient logs in to accept the invitation. The lender console requires a second factor.",
            ],
        ),
        RecordAction(
            name="revoke",
            label="Revoke an invitation",
            permission="credit.view_provider",
            run=_revoke,
            form=RevokeForm,
            refusal=lambda provider: "" if _waiting(provider).exists() else "No invitations are pending.",
            initial=lambda provider: {
                "waiting": [(str(row.pk), f"{row.email}, {row.role}") for row in _waiting(provider)[:INVITATIONS_SHOWN]]
            },
            consequences=lambda _provider: ["The link in the mail stops working."],
        ),
        MAKE,
        SET_ADDRESS,
        SET_LOGO,
        REMOVE_LOGO,
    )

    @property
    def kind(self) -> str:
        return "lender"

    def title_of(self, record: Provider) -> str:
        return record.name or str(record.pk)

    @admin.display(description="logo")
    def logo(self, record: Provider) -> SafeString | str:
        if not record.logo_path:
            return NOTHING
        return format_html('<img class="lender-logo" src="{}" alt="Logo">', record.logo_path)

    def actions_of(self, request: HttpRequest, record: Provider) -> list[RecordAction]:
        """Return the actions for invitations and offers, which only the lender's owners have."""
        is_owner = role_of(record, request.user) == ProviderMember.OWNER
        return super().actions_of(request, record) if is_owner else []

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        console = console_of(request.user)
        if console is not None and len(console.seats) == 1 and not request.GET:
            return HttpResponseRedirect(self.address_of("change", console.seats[0].provider_id))
        return super().changelist_view(request, extra_context)

    def title_of_list(self, request: HttpRequest) -> str:
        return "Lenders" if console_of(request.user) is None else "Team"

    def page_of(self, request: HttpRequest, record: Provider) -> dict[str, Any]:
        page = {
            **super().page_of(request, record),
            "title": f"{record.name or 'Lender'} ({record.pk})",
            "show_save_and_continue": False,
        }
        if not may_change_members(request, record):
            return page
        return {**page, "invitations": _waiting(record)[:INVITATIONS_SHOWN]}

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow users who can manage members to save the page. All other fields of the page are read-only."""
        return may_change_members(request, obj)
