"""Log in the issuer's users: find the account, set the groups, and manage the sessions.

An account is matched only by issuer and subject. The first log-in requires an open staff invitation for an email
address that the issuer has verified. A log-in never creates a superuser.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from allauth.account.adapter import get_adapter
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import user_logged_out
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from config.core import audit
from config.core.adapters import is_text
from config.core.lifecycle import Actor
from config.core.log_in import ISSUER_SESSION
from config.mail.addresses import normalize
from identity.access.authentication import forget_credentials
from identity.access.models import AccountHistory, TokenFamily, User
from identity.access.staff import is_break_glass
from identity.access.tokens import TokenPair, start_family
from identity.accounts.addresses import accounts_with, confirm, is_set_by_operator, owns
from identity.accounts.invitations import accept_verified, waiting_for_staff
from identity.accounts.links import LinkEnded, make_link, use_link
from identity.accounts.security_mails import mail_about_change
from identity.oidc.client import TEXT_MAX, SignInFailed, configured, groups_of, subject_of
from identity.oidc.models import IssuerSession, StaffIdentity

_CREDENTIAL = "issuer"
_LOGOUT_SLACK = timedelta(minutes=1)  # the tolerance for clock differences
_CODE = "token_code"  # the purpose of the one-time links for token codes
CODE_LASTS = timedelta(minutes=2)


class LogInRefused(Exception):
    """The issuer authenticated the user, but access is denied. `str()` is the message, and `word` is logged."""

    def __init__(self, word: str, text: str) -> None:
        super().__init__(text)
        self.word = word


class NotInvited(LogInRefused):
    def __init__(self, word: str) -> None:
        super().__init__(
            word,
            "There is no invitation for your email address. Ask the administrator of staff accounts to invite you.",
        )


def log_in_person(claims: dict[str, Any], *, now: datetime) -> tuple[User, IssuerSession]:
    """Return the user's account and a new session, and set the groups from the claims. Raises LogInRefused.

    A rejected log-in also removes groups. If the account is disabled or no longer staff, the account loses all groups
    that the settings map.
    """
    sid = claims.get("sid")
    if sid is not None and not is_text(sid, TEXT_MAX):
        raise SignInFailed("bad_sid")
    names: dict[str, str] = settings.STAFF_OIDC_GROUPS
    subject, wanted = subject_of(claims), {names[theirs] for theirs in groups_of(claims) if theirs in names}
    with transaction.atomic():
        identities = StaffIdentity.objects.select_related("user").filter(issuer=configured().url)
        identity = identities.filter(subject=subject).first()
        if identity is None and wanted:
            identity = _link(subject, claims, now=now)
        if identity is not None:
            user = identity.user
            _set_groups(user, wanted if user.is_active and user.is_staff else set())
    if identity is None or not wanted:
        raise LogInRefused("no_group", "None of your groups has access. Ask the person who manages your groups.")
    user = identity.user
    if not user.is_active or not user.is_staff:
        raise LogInRefused("inactive", "Your account here is closed or is no longer staff.")
    return user, IssuerSession.objects.create(identity=identity, sid=sid or "", began_at=now)


def _set_groups(user: User, wanted: set[str]) -> None:
    """Set the account's groups to `wanted`. Groups that the settings don't map remain unchanged."""
    mapped = Group.objects.filter(name__in=settings.STAFF_OIDC_GROUPS.values())
    has = set(user.groups.filter(pk__in=mapped).values_list("name", flat=True))
    user.groups.remove(*mapped.filter(name__in=has - wanted))
    user.groups.add(*mapped.filter(name__in=wanted - has))


def _link(subject: str, claims: dict[str, Any], *, now: datetime) -> StaffIdentity:
    """Accept the invitation for the user's verified address, with an existing account or a new account."""
    email = _verified_address(claims)
    invitation = waiting_for_staff(email, now=now)
    if invitation is None:
        raise NotInvited("no_invitation")
    # An existing account is used only if its owner confirmed the address, or an operator set the address.
    known = [account for account in accounts_with(email) if owns(account, email) or is_set_by_operator(account, email)]
    user = known[0] if known else _make_account(email)
    if user.is_superuser or StaffIdentity.objects.filter(issuer=configured().url, user=user).exists():
        raise NotInvited("linked_or_superuser")
    accept_verified(invitation, user, now=now)
    identity = StaffIdentity.objects.create(user=user, issuer=configured().url, subject=subject, created_at=now)
    AccountHistory.note("account.linked", Actor(user, _CREDENTIAL), now=now, object_id=identity.pk)
    if known:
        mail_about_change(user, "staff_linked", to=email, now=now)
    return identity


def _verified_address(claims: dict[str, Any]) -> str:
    email = claims.get("email")
    if claims.get("email_verified") is not True or not isinstance(email, str):
        raise NotInvited("unverified_address")
    try:
        return normalize(email)
    except ValidationError as error:
        raise NotInvited("bad_address") from error


def _make_account(email: str) -> User:
    user = User(username=get_adapter().generate_unique_username([email]))
    user.set_unusable_password()
    user.save()
    if not confirm(user, email):  # another account has this address, for example a disabled account
        raise NotInvited("address_of_another")
    return user


def session_ended(request: HttpRequest, user: Any) -> bool:
    """Check whether a page session of an account must end.

    A session that started at the issuer ends when its `IssuerSession` row is deleted. If an issuer is configured, other
    staff sessions end after 8 hours. If passwords are also disabled for staff, these other sessions end immediately,
    except for the break-glass account.
    """
    identifier, now = request.session.get(ISSUER_SESSION), timezone.now()
    if identifier is not None:
        return not IssuerSession.objects.live_at(now).filter(pk=UUID(identifier), identity__user=user.pk).exists()
    if settings.STAFF_OIDC is None or not (user.is_staff or user.is_superuser):
        return False
    began = request.session.get("began", 0)
    is_over = now.timestamp() - began > IssuerSession.LASTS.total_seconds()
    return is_over or not (settings.STAFF_PASSWORDS or is_break_glass(user))


@receiver(user_logged_out, dispatch_uid="end-issuer-session")
def _end_own_session(*, request: HttpRequest, **_signal: Any) -> None:
    """At a log-out, end the issuer session's row and revoke the tokens that its codes created."""
    identifier = request.session.get(ISSUER_SESSION)
    session = IssuerSession.objects.filter(pk=UUID(identifier)).first() if identifier is not None else None
    if session is not None and session.ended_at is None:
        now = timezone.now()
        IssuerSession.objects.filter(pk=session.pk).update(ended_at=now)
        TokenFamily.objects.filter(user=session.identity.user_id, ends_at=session.ends_at).revoke(now=now)


def create_code(session_id: str, *, now: datetime) -> str:
    """Return a one-time code for `POST /v1/auth/token`. The code's tokens expire with the session."""
    return make_link(_CODE, email="", subject=session_id, lasts=CODE_LASTS, now=now)


def exchange_code(code: str, *, now: datetime) -> TokenPair | None:
    """Exchange a one-time code. Returns None for an unknown, used, or expired code, or after the session's end."""
    with transaction.atomic():
        try:
            link = use_link(code, _CODE, now=now)
        except LinkEnded:
            return None
        live = IssuerSession.objects.live_at(now).select_related("identity__user")
        session = live.filter(pk=UUID(link.subject), identity__user__is_active=True).first()
        if session is None:
            return None
        return start_family(user=session.identity.user, now=now, second_factor=True, ends_at=session.ends_at)


def log_out_person(claims: dict[str, Any], *, now: datetime) -> None:
    """End the sessions that a logout token identifies by subject or session ID, and the account's API log-ins.

    A token with a subject also ends the user's password sessions. Sessions that started after the issuer created the
    token remain.
    """
    until = datetime.fromtimestamp(claims["iat"], tz=timezone.get_current_timezone()) + _LOGOUT_SLACK
    named = Q(identity__issuer=configured().url, began_at__lte=until)
    if subject := claims.get("sub"):
        named &= Q(identity__subject=subject)
    if sid := claims.get("sid"):
        named &= Q(sid=sid) if subject is None else Q(sid__in=(sid, ""))
    with transaction.atomic():
        sessions = IssuerSession.objects.live_at(now).filter(named)
        users = set(sessions.values_list("identity__user", flat=True))
        identity = StaffIdentity.objects.filter(issuer=configured().url, subject=subject).first() if subject else None
        if identity is not None:
            users.add(identity.user_id)
            # Password sessions that started before the logout token also end.
            keys = UserSession.objects.filter(user=identity.user_id).values("session_key")
            for session in Session.objects.filter(session_key__in=keys):
                held = session.get_decoded()
                if ISSUER_SESSION not in held and held.get("began", 0) <= until.timestamp():
                    session.delete()
        sessions.update(ended_at=now)
        for user_id in users:
            log_ins = TokenFamily.objects.filter(user=user_id, client__isnull=True, actor__isnull=True)
            log_ins.filter(created_at__lte=until).revoke(now=now)
            audit.emit(
                "account.logged_out", actor={"app_name": _CREDENTIAL}, entity=audit.entity("identity.user", user_id)
            )
    forget_credentials()


def unlink(user: User, *, by: Actor, reason: str, now: datetime) -> None:
    """Remove an account's link to the issuer, and end its sessions. The next log-in requires a new invitation."""
    with transaction.atomic():
        identities = StaffIdentity.objects.filter(user=user)
        TokenFamily.objects.filter(user=user, ends_at__isnull=False).revoke(now=now)
        IssuerSession.objects.filter(identity__in=identities).delete()
        identities.delete()
        AccountHistory.note("account.unlinked", by, account_id=user.pk, details={"reason": reason}, now=now)
