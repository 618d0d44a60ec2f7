"""Admin pages of invitations, managed accounts, and changes of accounts' keys, clients, and partners."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone

from config.backoffice.bases import ReadOnlyAdmin, RecordAction, SeenForm
from config.backoffice.consoles import UNMASK
from config.backoffice.html import change_address, chip, column, details, words
from config.backoffice.timeline import TimelineEntry
from config.backoffice.transitions import actor_of
from config.core.errors import ApiError
from config.core.groups import LENDER, PARTNER
from identity.access.models import AccountHistory
from identity.accounts.addresses import ADDRESS_MAX
from identity.accounts.invitations import invite, revoke
from identity.accounts.models import Invitation, ManagedAccount
from identity.accounts.roles import MAY_INVITE, MAY_INVITE_STAFF, ROLES, STAFF
from identity.accounts.support import end_log_ins, mail_reset

EVENTS_MAX = 50  # the page of an account shows the newest entries of its history
_WORDS = {"api_key": "API key", "oauth_client": "OAuth client"}


def _end_log_ins(request: HttpRequest, person: Any, _form: SeenForm) -> str:
    end_log_ins(person, by=actor_of(request), now=timezone.now())
    return f"All sessions of {person} ended."


def _mail_reset(request: HttpRequest, person: Any, _form: SeenForm) -> str:
    if not mail_reset(person, by=actor_of(request), now=timezone.now()):
        raise ValidationError("This address has reached its hourly limit of mails. Try again in an hour.")
    return f"The mail to {person} was sent."


def _why_no_reset(person: Any) -> str:
    if not person.is_active:
        return "The account is disabled."
    return "" if person.email else "The account has no e-mail address."


# Only members of Support have the permission to unmask a record.
HELP = (
    RecordAction(
        name="mail-reset",
        label="Send a password mail",
        permission=UNMASK,
        run=_mail_reset,
        refusal=_why_no_reset,
        consequences=lambda person: [
            f"{person} gets the mail of the page “Forgot password” at the address of the account.",
            "The password stays valid until the owner sets a new one. Verify that the request comes from the owner.",
        ],
    ),
    RecordAction(
        name="end-sessions",
        label="End all sessions",
        permission=UNMASK,
        run=_end_log_ins,
        consequences=lambda person: [
            f"{person} must log in again on each device. Tokens of log-ins stop working.",
            "API keys and authorized apps stay valid.",
        ],
    ),
)


def may_help(viewer: Any, person: Any) -> bool:
    """Check whether `viewer` can help the owner of an account. Only superusers can do this for staff."""
    return viewer.is_superuser or not person.is_staff


def events_about(person: Any) -> list[TimelineEntry]:
    """Return the newest entries of an account's history, without their details, which can be personal data."""
    rows = AccountHistory.objects.filter(account=person.pk).select_related("principal").order_by("-id")
    return [
        TimelineEntry(
            at=row.at,
            title=_title_of(row.action),
            actor=str(row.principal) if row.principal is not None else "system",
            credential=row.credential,
            address=change_address("identity_accounthistory", row.pk),
        )
        for row in rows.only("at", "action", "credential", "principal__username")[:EVENTS_MAX]
    ]


def _title_of(action: str) -> str:
    kind, _, verb = action.partition(".")
    return f"{_WORDS.get(kind, words(kind).capitalize())} {words(verb)}"


def _roles() -> list[tuple[str, str]]:
    """Return the roles of the platform. The owners of a lender invite its members on the lender's page."""
    return [(role.name, f"{role.name.capitalize()}: {role.meaning.replace('`group`', 'a group')}") for role in ROLES]


def _groups() -> list[tuple[str, str]]:
    names = Group.objects.exclude(name__in=(LENDER, PARTNER)).order_by("name").values_list("name", flat=True)
    return [(name, name) for name in names]


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]
    email = forms.EmailField(label="E-mail address", max_length=ADDRESS_MAX)
    role = forms.ChoiceField(label="Role", choices=_roles, widget=forms.RadioSelect)
    group = forms.ChoiceField(
        label="Group of staff",
        choices=lambda: [("", "—"), *_groups()],
        required=False,
        help_text="Only for an account that uses the back office.",
    )

    class Meta:
        model = Invitation
        fields = ("email", "role", "group")

    request: HttpRequest

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if not self.request.user.has_perm(MAY_INVITE_STAFF):
            role: Any = self.fields["role"]
            role.choices = [choice for choice in _roles() if choice[0] != STAFF]

    def clean(self) -> dict[str, Any]:
        """Send the invitation during validation, so that the form can show an error."""
        facts: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                self.sent = invite(actor=actor_of(self.request), **facts, now=timezone.now())
            except ApiError as refusal:
                raise ValidationError(str(refusal)) from refusal
        return facts

    def save(self, commit: bool = True) -> Invitation:  # noqa: ARG002  Django's signature
        return self.sent

    def save_m2m(self) -> None:
        """Do nothing, because `clean` has stored the invitation."""


def _revoke(request: HttpRequest, invitation: Invitation, _form: SeenForm) -> str:
    revoke(invitation, actor=actor_of(request), now=timezone.now())
    return "The invitation was revoked."


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "state_chip", "role", "email", "invited_by", "expires_at")
    list_select_related = ("invited_by",)
    search_fields = ("=id", "invited_by__username__startswith")
    search_help_text = "An invitation's id, or the beginning of the inviter's user name"
    ordering = ("-id",)
    is_about_people = True
    fields = (
        "id", "state_chip", "role", "email", "provider_id", "group", "invited_by", "created_at", "expires_at",
        "accepted_by", "accepted_at", "revoked_at",
    )  # fmt: skip
    record_actions = (
        RecordAction(
            name="revoke",
            label="Revoke",
            permission="identity.change_invitation",
            run=_revoke,
            refusal=lambda invitation: "" if invitation.state == "waiting" else f"It is {invitation.state}.",
            seen=lambda invitation: invitation.state,
            consequences=lambda _invitation: ["The link in the mail stops working. Accepted roles are unaffected."],
        ),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(MAY_INVITE))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is not None:
            return super().get_fields(request, obj)
        has_group = request.user.has_perm(MAY_INVITE_STAFF)
        return [name for name in InvitationForm.Meta.fields if name != "group" or has_group]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        if obj is not None:
            return super().get_form(request, obj, change, **options)
        hidden = {} if request.user.has_perm(MAY_INVITE_STAFF) else {"group": None}  # Django's way to omit a field
        return type("InvitationForm", (InvitationForm,), {"request": request, **hidden})

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Do nothing, because `clean` has sent the invitation."""

    def subject_of(self, record: Invitation) -> int | None:
        return record.accepted_by_id

    state_chip = column(chip, "state", "state")


@admin.register(ManagedAccount)
class ManagedAccountAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "partner", "external_id", "claimed_at", "ended_at", "created_at")
    list_select_related = ("partner", "user")
    search_fields = ("=user__id", "partner__username__startswith")
    search_help_text = "An account's id, or the beginning of the partner's user name"
    ordering = ("-user_id",)
    is_about_people = True
    fields = ("user", "partner", "external_id", "name", "email", "claimed_at", "ended_at", "created_at")

    def subject_of(self, record: ManagedAccount) -> int | None:
        return record.user_id


@admin.register(AccountHistory)
class AccountHistoryAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "account", "principal", "credential", "at")
    list_select_related = ("account", "principal")
    search_fields = ("=account__id", "account__username__startswith", "=object_id")
    search_help_text = "An account's id, the beginning of its user name, or the id of a key, a client, or an invitation"
    ordering = ("-id",)
    is_about_people = True
    fields = ("action", "account", "principal", "credential", "object_id", "what", "at")

    what = column(details, "details", "details")

    def subject_of(self, record: AccountHistory) -> int:
        return record.account_id
