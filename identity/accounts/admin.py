"""Admin pages of invitations, managed accounts, and changes of accounts' keys, clients, and partners."""

from typing import Any

from allauth.usersessions.models import UserSession
from django import forms
from django.contrib import admin
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from config.backoffice.bases import ReadOnlyAdmin, RecordAction, SeenForm
from config.backoffice.consoles import UNMASK
from config.backoffice.forms import ExplainedForm
from config.backoffice.html import change_address, chip, column, details, moment, record_link, words
from config.backoffice.people import Table
from config.backoffice.personal import MASK, mask
from config.backoffice.timeline import TimelineEntry, way_in_words
from config.backoffice.transitions import actor_of
from config.core.errors import ApiError
from config.core.groups import LENDER, PARTNER
from config.mail.delivery import subject_of
from config.mail.models import FAILED, PENDING, SENT, OutgoingMail
from config.mail.outbox import index_of
from identity.access.models import AccountHistory
from identity.accounts.addresses import ADDRESS_MAX
from identity.accounts.invitations import invite, revoke
from identity.accounts.models import Invitation, ManagedAccount
from identity.accounts.roles import MAY_INVITE, MAY_INVITE_STAFF, ROLES, STAFF
from identity.accounts.support import end_log_ins, mail_reset

EVENTS_MAX = 50  # the page of an account shows the newest entries of its history
_TABLE_ROWS = 20
_WORDS = {"api_key": "API key", "oauth_client": "OAuth client"}
# Other actions are spelled as the kind of the object and the verb: "API key rotated".
_ACTIONS = {
    "account.access_ended": "Partner's access ended",
    "account.break_glass": "Logged in with the break-glass account",
    "account.claimed": "Account taken over from a partner",
    "account.export_requested": "Copy of the data requested",
    "account.linked": "Linked to single sign-on",
    "account.logged_out": "Logged out on all devices",
    "account.reset_mailed": "Mail for a new password sent",
    "account.token_issued": "Access token issued to a partner",
    "account.unlinked": "Unlinked from single sign-on",
}
_MAIL_STATUSES = {PENDING: "Waiting", SENT: "Sent", FAILED: "Failed"}
_BROWSERS = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))


def _end_log_ins(request: HttpRequest, person: Any, form: ExplainedForm) -> str:
    end_log_ins(person, by=actor_of(request), reason=form.cleaned_data["reason"], now=timezone.now())
    return "All sessions of the account ended."


def _mail_reset(request: HttpRequest, person: Any, form: ExplainedForm) -> str:
    if not mail_reset(person, by=actor_of(request), reason=form.cleaned_data["reason"], now=timezone.now()):
        raise ValidationError("This address has reached its hourly limit of mails. Try again in an hour.")
    return "The mail to the address of the account waits to be sent. “Mails” shows its status."


def _why_no_reset(person: Any) -> str:
    if not person.is_active:
        return "The account is disabled."
    return "" if person.email else "The account has no email address."


# Only members of Support have the permission to unmask a record.
HELP = (
    RecordAction(
        name="mail-reset",
        label="Send a password mail",
        permission=UNMASK,
        run=_mail_reset,
        form=ExplainedForm,
        refusal=_why_no_reset,
        consequences=lambda _person: [
            "The owner gets the mail of the page “Forgot password” at the address of the account.",
            "The password stays valid until the owner sets a new one. Verify that the request comes from the owner.",
        ],
    ),
    RecordAction(
        name="end-sessions",
        label="End all sessions",
        permission=UNMASK,
        run=_end_log_ins,
        form=ExplainedForm,
        consequences=lambda _person: [
            "The owner must log in again on each device. Tokens of log-ins stop working.",
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
            title=action_in_words(row.action),
            actor=str(row.principal) if row.principal is not None else "system",
            credential=row.credential,
            address=change_address("identity_accounthistory", row.pk),
        )
        for row in rows.only("at", "action", "credential", "principal__username")[:EVENTS_MAX]
    ]


def action_in_words(action: str) -> str:
    if action in _ACTIONS:
        return _ACTIONS[action]
    kind, _, verb = action.partition(".")
    return f"{_WORDS.get(kind, words(kind).capitalize())} {words(verb)}"


def facts_about(person: Any) -> list[tuple[str, Any]]:
    """Return an account's name, contact data, and status in words. The fields of `person` may be masked."""
    groups = ", ".join(map(str, person.groups.all()))
    facts = [
        ("Name", person.get_full_name() or "No name"),
        ("Email address", person.email or "No address"),
        ("Status", _status_of(person)),
        ("User name", person.get_username()),
        ("User ID", person.pk),
        ("Joined", moment(person.date_joined)),
        ("Last log-in", moment(person.last_login) if person.last_login else "Never"),
    ]
    if person.is_staff:
        facts.append(("Back office", "Superuser" if person.is_superuser else f"Staff, {groups or 'without a group'}"))
    elif groups:
        facts.append(("Groups", groups))
    return facts


def _status_of(person: Any) -> str:
    if person.erased_at is not None:
        return "Erased"
    return "Active" if person.is_active else "Disabled: the owner can't log in"


def mails_to(person: Any) -> Table:
    """Return the newest mails to the account's address, without their content."""
    address = type(person).objects.values_list("email", flat=True).get(pk=person.pk)  # the instance may be masked
    mails = OutgoingMail.objects.filter(recipient_index__in=index_of(address) if address else ())
    newest = mails.order_by("-created_at", "-pk").only("template", "status", "created_at")[:_TABLE_ROWS]
    rows = [(subject_of(mail.template), _MAIL_STATUSES[mail.status], moment(mail.created_at)) for mail in newest]
    return Table("Mails", ("Mail", "Status", "Created"), rows, "No mails to the present address are stored.")


def sessions_of(person: Any) -> Table:
    """Return the account's sessions that have not ended.

    If the account is masked, the name of the browser is masked too.
    """
    current = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    sessions = UserSession.objects.filter(user=person.pk, session_key__in=current).order_by("-last_seen_at")
    is_masked = getattr(person, "is_masked", False)
    rows = [
        (MASK if is_masked else _browser_of(each.user_agent), moment(each.created_at), moment(each.last_seen_at))
        for each in sessions.only("user_agent", "created_at", "last_seen_at")[:_TABLE_ROWS]
    ]
    return Table("Active sessions", ("Browser", "Since", "Last seen"), rows, "No active sessions.")


def _browser_of(user_agent: str) -> str:
    return next((name for sign, name in _BROWSERS if sign in user_agent), "another program")


def _roles() -> list[tuple[str, str]]:
    """Return the roles of the platform. The owners of a lender invite its members on the lender's page."""
    return [(role.name, f"{role.name.capitalize()}: {role.meaning.replace('`group`', 'a group')}") for role in ROLES]


def _groups() -> list[tuple[str, str]]:
    names = Group.objects.exclude(name__in=(LENDER, PARTNER)).order_by("name").values_list("name", flat=True)
    return [(name, name) for name in names]


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]
    email = forms.EmailField(label="Email address", max_length=ADDRESS_MAX)
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
    list_display = ("event", "account", "done_by", "way", "at")
    list_select_related = ("account", "principal")
    search_fields = ("=account__id", "account__username__startswith", "=object_id")
    search_help_text = "An account's id, the beginning of its user name, or the id of a key, a client, or an invitation"
    ordering = ("-id",)
    is_about_people = True
    fields = ("event", "account", "done_by", "way", "object_id", "what", "at")

    @admin.display(description="event", ordering="action")
    def event(self, record: AccountHistory) -> str:
        return action_in_words(record.action)

    @admin.display(description="done by")
    def done_by(self, record: AccountHistory) -> SafeString | str:
        principal = record.principal
        return "system" if principal is None else record_link("identity_user", principal.pk, principal.get_username())

    @admin.display(description="log-in or key")
    def way(self, record: AccountHistory) -> str:
        return way_in_words(record.credential)

    def title_of(self, record: AccountHistory) -> str:
        return action_in_words(record.action)

    @admin.display(description="details")
    def what(self, record: AccountHistory) -> SafeString | str:
        """Display the details. A masked record hides the reason that a colleague entered."""
        facts = record.details
        if getattr(record, "is_masked", False) and isinstance(facts, dict) and "reason" in facts:
            facts = {**facts, "reason": mask(facts["reason"])}
        return details(facts)

    def subject_of(self, record: AccountHistory) -> int:
        return record.account_id
