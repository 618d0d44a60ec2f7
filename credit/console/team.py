"""The page of a lender: its members, its invitations, its data, and its logo."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.backoffice.consoles import console_of
from config.backoffice.forms import SeenForm
from config.backoffice.html import NOTHING, column, details, record_link
from config.backoffice.people import person_name
from config.backoffice.records import NamedRecords, RecordAction
from config.backoffice.transitions import actor_of
from config.core.errors import ValidationFailed
from credit.api.offers.provider_serializers import ProviderRequestSerializer
from credit.console.offer_forms import MAKE
from credit.core.agencies import CHOICES
from credit.core.logos import MAX_BYTES, PNG_SIDE_MAX, Logo, NotALogo, read_logo
from credit.models import Provider, ProviderMember
from credit.offers.providers import change_logo, change_provider, members_of, role_of
from identity.accounts.addresses import ADDRESS_MAX
from identity.accounts.invitations import invite, revoke
from identity.accounts.models import Invitation
from identity.models import User

_PLAIN = ("name", "address", "agency", "phone", "email", "register_number", "debt_advice")
_PARTS = {"supervisor": ("name", "address"), "redress": ("name", "url")}
_LINES = forms.Textarea(attrs={"rows": 4})
_EU = ("register_number", "supervisor_name", "supervisor_address", "redress_name", "redress_url", "debt_advice")
_FOR_EU = "Required for credit in the European Union."


def _optional(label: str, max_length: int, help_text: str = "", **options: Any) -> forms.CharField:
    return forms.CharField(label=label, max_length=max_length, required=False, help_text=help_text, **options)


class LenderForm(SeenForm):
    """The lender's name and contact data. The form applies the rules of `PUT /v1/providers/{provider_id}`."""

    name = forms.CharField(max_length=255, help_text="Applicants see it. It must not look like another lender's name.")
    address = _optional("Postal address", 500, "The address for notices and agreements.", widget=_LINES)
    phone = _optional("Telephone number", 64, _FOR_EU)
    email = _optional("Email address", 254, _FOR_EU)
    agency = forms.ChoiceField(
        label="Federal agency",
        choices=[("", "The default of the platform"), *CHOICES],
        required=False,
        help_text="Adverse action notices name the agency that supervises you under Regulation B.",
    )
    register_number = _optional("Registration number", 255, "The register and the number.")
    supervisor_name = _optional("Supervisory authority", 255)
    supervisor_address = _optional("Address of the supervisory authority", 500)
    redress_name = _optional("Body for complaints out of court", 255)
    redress_url = _optional("Website of this body", 500, "Such as https://ombudsman.example.")
    debt_advice = _optional("Where borrowers get debt advice", 1000)

    @property
    def fieldset(self) -> tuple[str, Any]:
        return _FOR_EU.removesuffix("."), [self[name] for name in _EU]

    def clean(self) -> dict[str, Any]:
        facts: dict[str, Any] = super().clean() or {}
        if self.errors:
            return facts
        parts = {name: {member: facts[f"{name}_{member}"] for member in members} for name, members in _PARTS.items()}
        body = {
            **{name: facts[name] or None for name in _PLAIN},
            "address": facts["address"],
            **{name: part if any(part.values()) else None for name, part in parts.items()},
        }
        try:
            self.lender = ProviderRequestSerializer.read(body)
        except ValidationFailed as refusal:
            details: Any = refusal.details or ()
            for detail in details:
                field = str(detail["field"]).replace("/", "_").replace(".", "_").strip("_")
                self.add_error(field if field in self.fields else None, detail["message"])
        return facts


def _initial(provider: Provider) -> dict[str, Any]:
    parts = {name: getattr(provider, name) or {} for name in _PARTS}
    return {
        **{name: getattr(provider, name) or "" for name in _PLAIN},
        **{f"{name}_{member}": parts[name].get(member, "") for name, members in _PARTS.items() for member in members},
    }


def _change(request: HttpRequest, provider: Provider, form: Any) -> str:
    change_provider(provider.pk, **form.lender, by=actor_of(request))
    return "The lender's data are stored."


CHANGE_LENDER = RecordAction(
    name="lender",
    label="Change the lender's data",
    permission="credit.view_provider",
    run=_change,
    form=LenderForm,
    seen=lambda provider: repr(sorted(_initial(provider).items())),  # `repr` escapes line breaks, which browsers change
    initial=_initial,
    consequences=lambda _provider: [
        "Applicants see the name and the contact data. Later notices and agreements contain them.",
        "Applications can't be decided without a name and a postal address.",
    ],
)


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


REMOVE_LOGO = RecordAction(
    name="remove-logo",
    label="Remove the logo",
    permission="credit.view_provider",
    run=_remove,
    refusal=lambda provider: "" if provider.logo_sha256 else "There is no logo.",
    seen=lambda provider: str(provider.logo_sha256),
    consequences=lambda _provider: ["Pages then show only your name."],
)


ROWS_MAX = 200  # the page shows at most this number of members, and of invitations
ROLES = (ProviderMember.REVIEWER, ProviderMember.READER, ProviderMember.OWNER)
ROLES_HELP = "A reader reads applications. A reviewer also decides. An owner also manages members and offers."
CREATOR_REMAINS = "The account that created the lender must remain an owner."
OF_LENDER = frozenset({CHANGE_LENDER.name, SET_LOGO.name, REMOVE_LOGO.name})


def may_change_members(request: HttpRequest, provider: Provider) -> bool:
    """Return whether the user can manage a lender's members, as an owner or as a superuser.

    Members can review applications, so the permission to manage lenders must not allow staff to add themselves.
    """
    console = console_of(request.user)
    if console is not None:
        return console.owns(provider.pk)
    is_owner = role_of(provider, request.user) == ProviderMember.OWNER
    return is_owner or bool(getattr(request.user, "is_superuser", False))


class RoleForm(SeenForm):
    role = forms.ChoiceField(choices=[(role, role.capitalize()) for role in ROLES], help_text=ROLES_HELP)


class InviteForm(RoleForm):
    email = forms.EmailField(label="Email address", max_length=ADDRESS_MAX)
    field_order = ("email", "role")


class AddForm(RoleForm):
    username = forms.CharField(label="User name", max_length=150)
    field_order = ("username", "role")

    def clean_username(self) -> User:
        user = User.objects.named(self.cleaned_data["username"]).filter(is_active=True).first()
        if user is None:
            raise ValidationError("No active account has this user name.")
        return user


def _invite(request: HttpRequest, provider: Provider, form: Any) -> str:
    email, role = form.cleaned_data["email"], form.cleaned_data["role"]
    invite(actor=actor_of(request), email=email, role=role, provider_id=provider.pk, now=timezone.now())
    return "The invitation is stored. The link is mailed, unless the address has reached its hourly limit of mails."


def _add(_request: HttpRequest, provider: Provider, form: Any) -> str:
    user, role = form.cleaned_data["username"], form.cleaned_data["role"]
    _, is_new = ProviderMember.objects.get_or_create(provider=provider, user=user, defaults={"role": role})
    if not is_new:
        raise ValidationError(f"The account {user} is already a member.")
    return f"The account {user} is now a member."


def _waiting(provider: Provider) -> QuerySet[Invitation]:
    return Invitation.objects.waiting_at(timezone.now()).filter(provider_id=provider.pk).order_by("-id")


INVITE = RecordAction(
    name="invite",
    label="Invite a member",
    permission="credit.view_provider",
    run=_invite,
    form=InviteForm,
    consequences=lambda _provider: [
        f"The platform sends a link by mail. It works once, within {Invitation.VALID_FOR.days} days.",
        "The recipient logs in to accept the invitation. The lender console requires a second factor.",
    ],
)
ADD = RecordAction(
    name="add-member",
    label="Add a member",
    permission="credit.view_provider",
    run=_add,
    form=AddForm,
    logged=lambda form: f"{form.cleaned_data['username'].pk}: {form.cleaned_data['role']}",
    consequences=lambda _provider: [
        "The account is a member at once, without an invitation. Members read the applications to the lender.",
    ],
)


@admin.register(Provider)
class ProviderAdmin(NamedRecords):
    """The admin of lenders. On a lender's page, owners and superusers manage the members."""

    list_display = ("name_or_id", "id", "owner", "created_at")
    list_select_related = ("owner",)
    search_fields = ("=id", "owner__username")
    search_help_text = "A lender's id, words of its name, or its owner's user name"
    ordering = ("-created_at",)
    fieldsets = (
        ("Lender", {"fields": (
            "id", "name", "logo", "address", "agency", "phone", "email", "register_number", "supervisor_shown",
            "redress_shown", "debt_advice", "created_at",
        )}),
    )  # fmt: skip
    supervisor_shown = column(details, "supervisor", "supervisor")
    redress_shown = column(details, "redress", "out-of-court redress")
    change_form_template = "credit/backoffice_provider.html"
    record_actions = (INVITE, ADD, MAKE, CHANGE_LENDER, SET_LOGO, REMOVE_LOGO)

    @property
    def kind(self) -> str:
        return "lender"

    @property
    def kinds(self) -> str:
        return "lenders"

    def title_of(self, record: Provider) -> str:
        return record.name or str(record.pk)

    @admin.display(description="name", ordering="name")
    def name_or_id(self, record: Provider) -> str:
        return self.title_of(record)

    @admin.display(description="logo")
    def logo(self, record: Provider) -> SafeString | str:
        if not record.logo_path:
            return NOTHING
        return format_html('<img class="lender-logo" src="{}" alt="Logo">', record.logo_path)

    def actions_of(self, request: HttpRequest, record: Provider) -> list[RecordAction]:
        """Return the actions of owners. Staff who are owners or superusers can also add accounts."""
        is_owner = role_of(record, request.user) == ProviderMember.OWNER
        may_add = console_of(request.user) is None and may_change_members(request, record)
        actions = super().actions_of(request, record)
        return [action for action in actions if (may_add if action is ADD else is_owner)]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        console = console_of(request.user)
        if console is not None and len(console.seats) == 1 and not request.GET:
            return HttpResponseRedirect(self.address_of("change", console.seats[0].provider_id))
        return super().changelist_view(request, extra_context)

    def title_of_list(self, request: HttpRequest) -> str:
        return "Lenders" if console_of(request.user) is None else "Team"

    def page_of(self, request: HttpRequest, record: Provider) -> dict[str, Any]:
        page = super().page_of(request, record)
        manages = may_change_members(request, record)
        buttons = page["buttons"]
        return {
            **page,
            "title": f"{record.name or 'Lender'} ({record.pk})",
            "buttons": [button for button in buttons if button.name not in OF_LENDER],
            "lender_buttons": [button for button in buttons if button.name in OF_LENDER and not button.refusal],
            "manages": manages,
            "may_revoke": manages and role_of(record, request.user) == ProviderMember.OWNER,
            "members": self._members(record, manages=manages),
            "invitations": self._invitations(record) if manages else [],
            "roles_help": ROLES_HELP,
        }

    def _invitations(self, record: Provider) -> list[tuple[Invitation, str]]:
        """Return the pending invitations with their roles. Version 1.0 stored the role `reviewer` as `member`."""
        return [
            (invitation, ProviderMember.REVIEWER if invitation.role == "member" else invitation.role)
            for invitation in _waiting(record)[:ROWS_MAX]
        ]

    def _members(self, record: Provider, *, manages: bool) -> list[dict[str, Any]]:
        """Return the rows of the members. Only users who manage the members see how a member logs in."""
        rows = members_of(record).annotate(factors=Count("user__authenticator"))[:ROWS_MAX]
        return [
            {
                "name": record_link("identity_user", row.user_id, person_name(row.user)),
                "email": row.user.email if manages else "",
                "role": row.role,
                "is_creator": row.is_owner,
                "is_active": row.user.is_active,
                "has_factor": bool(row.factors),
                "last_login": row.user.last_login,
                "change": self.address_of("member", record.pk, row.pk, "change"),
                "remove": self.address_of("member", record.pk, row.pk, "remove"),
            }
            for row in rows
        ]

    def get_urls(self) -> list[Any]:
        member = "members/<int:member_id>/<slug:verb>/"
        invitation = "invitations/<uuid:invitation_id>/revoke/"
        return [
            self.record_path(member, self.member_view, "member"),
            self.record_path(invitation, self.revoke_view, "revoke"),
            *super().get_urls(),
        ]

    def member_view(self, request: HttpRequest, record: Provider, member_id: int, verb: str) -> HttpResponse:
        """Change the role of a member, or remove the member."""
        member = members_of(record).filter(pk=member_id).first()
        if verb not in {"change", "remove"} or member is None or not may_change_members(request, record):
            raise PermissionDenied
        removes, name = verb == "remove", person_name(member.user)
        form_class = SeenForm if removes else RoleForm
        form = form_class(request.POST or None, initial={"seen": member.role, "role": member.role})

        def run() -> str:
            if member.is_owner:
                raise ValidationError(CREATOR_REMAINS)
            if form.cleaned_data["seen"] != member.role:
                raise ValidationError("The role changed after you opened the page, so nothing was changed.")
            if removes:
                member.delete()
                self.log_change(request, record, f"Member {member.user_id} removed.")
                return f"The member {name} was removed."
            member.role = form.cleaned_data["role"]
            member.save(update_fields=["role"])
            self.log_change(request, record, f"Member {member.user_id}: {member.role}.")
            return f"The role of {name} is now {member.role}."

        if removes:
            effects = [f"{name} loses access to the lender's records with the next page."]
        else:
            effects = [f"The role of {name} is {member.role}. The new role applies to the next page."]
        label = f"{'Remove' if removes else 'Change the role of'} {name}"
        return self.confirmed(request, record, form, run, label=label, consequences=effects)

    def revoke_view(self, request: HttpRequest, record: Provider, invitation_id: Any) -> HttpResponse:
        invitation = _waiting(record).filter(pk=invitation_id).first()
        if role_of(record, request.user) != ProviderMember.OWNER:
            raise PermissionDenied
        form = SeenForm(request.POST or None, initial={"seen": str(invitation_id)})

        def run() -> str:
            if invitation is None:
                raise ValidationError("The invitation has already ended.")
            revoke(invitation, actor=actor_of(request), now=timezone.now())
            self.log_change(request, record, "Invitation revoked.")
            return "The invitation was revoked."

        about = f" of {invitation.email}" if invitation else ""
        effects = ["The link in the mail stops working."]
        label = f"Revoke the invitation{about}"
        return self.confirmed(request, record, form, run, label=label, consequences=effects)
