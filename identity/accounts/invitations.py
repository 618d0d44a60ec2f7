"""Invitations by mailed links. Within 7 days, the owner of the address can accept the role once.

Apps declare their own roles (`invitation_roles` of their AppConfig). A link leads to a page with a button. The button
opens the sign-up form for the invited address. The session stores the invitation until the sign-up.
"""

from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from config.core import audit
from config.core.encryption import UnreadableSecret
from config.core.errors import ApiError, ValidationFailed
from config.core.lifecycle import Actor, audit_actor
from config.mail.addresses import comparable
from config.mail.outbox import queue_requested_mail
from config.webhooks.events import record_event
from identity.access.models import AccountHistory, User
from identity.access.second_factor import require_second_factor
from identity.accounts.addresses import check_address, is_named, owns
from identity.accounts.links import LinkEnded, end_links, find_link, make_link, use_link
from identity.accounts.models import Invitation, InvitationQuerySet
from identity.accounts.roles import STAFF, Outcome, roles, words_of

PURPOSE = "invitation"
WAITING_MAX = 50  # the maximum number of an inviter's open invitations
_SESSION_KEY = "account.invitation"


def invite(*, actor: Actor, email: str, role: str, provider_id: str = "", group: str = "", now: datetime) -> Invitation:
    """Store an invitation and mail its link.

    Raises SecondFactorRequired and RateLimited. Raises InsufficientScope, or another error of the role's check, if the
    actor can't invite. Raises ValidationFailed for an invalid address, and for a lender or group that the role does not
    use. Also raises ValidationFailed if the lender has already invited the address, or if WAITING_MAX invitations are
    open.
    """
    email = check_address(email)
    invitation = Invitation(
        email=email, role=role, provider_id=provider_id, group=group, invited_by=actor.user, created_at=now,
        expires_at=now + Invitation.VALID_FOR,
    )  # fmt: skip
    if not actor.is_system:
        require_second_factor(actor)
    roles()[role].check(actor.user, invitation)
    for name, value in ("provider_id", provider_id), ("group", group):
        if value and name != roles()[role].qualifier:
            raise ValidationFailed.of_member(name, f"Must be empty with the role `{role}`.")
    with transaction.atomic():
        if not actor.is_system:
            # The lock makes the count exact.
            User.objects.select_for_update(no_key=True).only("pk").get(pk=actor.user.pk)
            if invitations_of(actor.user).waiting_at(now).count() >= WAITING_MAX:
                raise ValidationFailed(f"You can have at most {WAITING_MAX} open invitations. Revoke one first.")
        if any(_still_counts(other) for other in _others_of_lender(invitation, now)):
            raise ValidationFailed.of_member(
                "email", "The address has an open invitation to this lender. Revoke the invitation first."
            )
        invitation.save(force_insert=True)
        token = make_link(PURPOSE, email=email, subject=str(invitation.pk), lasts=Invitation.VALID_FOR, now=now)
        address = f"{settings.APP_URL}{reverse('account_invitation', args=[token])}"
        context = {"link": address, **words_of(invitation)}
        queue_requested_mail(email, "invitation", context, named_by=None if actor.is_system else actor.user.pk, now=now)
        _note("created", invitation, actor, now)
    return invitation


def invitations_of(inviter: User) -> InvitationQuerySet:
    return Invitation.objects.filter(invited_by=inviter).order_by("-id")


def find(token: str, *, now: datetime) -> Invitation:
    """Return a link's invitation without using the link. Raises LinkEnded, also if the inviter can no longer invite."""
    subject = find_link(token, PURPOSE, now=now).subject
    invitation = Invitation.objects.waiting_at(now).select_related("invited_by").filter(pk=subject).first()
    if invitation is None or not _still_counts(invitation):
        raise LinkEnded
    return invitation


def accept(token: str, user: User, now: datetime, *, by_link: bool = False) -> Invitation:
    """Accept an invitation for `user`, who has confirmed the invited address. Raises LinkEnded.

    `by_link` is True if `user` has just signed up with this link and the invited address.
    """
    with transaction.atomic():
        invitation = find(token, now=now)
        try:
            is_theirs = user.is_active and (
                owns(user, invitation.email) or (by_link and is_named(user, invitation.email))
            )
        except UnreadableSecret:
            is_theirs = False
        if not is_theirs:
            raise LinkEnded
        use_link(token, PURPOSE, email=invitation.email, now=now)
        _admit(invitation, user, now)
    return invitation


def _admit(invitation: Invitation, user: User, now: datetime) -> None:
    """Assign the role, in the caller's transaction. Raises LinkEnded for an invitation that is no longer open."""
    if not Invitation.objects.waiting_at(now).filter(pk=invitation.pk).update(accepted_at=now, accepted_by=user):
        raise LinkEnded
    invitation.accepted_at, invitation.accepted_by = now, user
    roles()[invitation.role].admit(invitation, user, now=now)
    actor, details = Actor(user, f"invitation:{invitation.pk}"), {"role": invitation.role}
    AccountHistory.note("invitation.accepted", actor, now=now, object_id=invitation.pk, details=details)
    _record("accepted", invitation, now)
    for other in _others_of_lender(invitation, now):
        _end(other, actor, now)


def _others_of_lender(invitation: Invitation, now: datetime) -> list[Invitation]:
    """If the invitation has a lender, return the lender's other open invitations to the same address."""
    if not invitation.provider_id:
        return []
    waiting = Invitation.objects.waiting_at(now).filter(provider_id=invitation.provider_id).exclude(pk=invitation.pk)
    return [other for other in waiting.select_related("invited_by") if _is_to(other, invitation.email)]


def _is_to(invitation: Invitation, email: str) -> bool:
    try:
        return comparable(invitation.email) == comparable(email)
    except UnreadableSecret:
        return False


def waiting_for_staff(email: str, *, now: datetime) -> Invitation | None:
    """Return the open staff invitation for an address. Returns None if its inviter has lost the permission."""
    waiting = Invitation.objects.waiting_at(now).filter(role=STAFF).select_related("invited_by").order_by("pk")
    return next((each for each in waiting if _is_to(each, email) and _still_counts(each)), None)


def accept_verified(invitation: Invitation, user: User, *, now: datetime) -> None:
    """Accept an invitation whose address the issuer of staff single sign-on has verified, and end its link.

    Raises LinkEnded.
    """
    with transaction.atomic():
        _admit(invitation, user, now)
        end_links(PURPOSE, subject=str(invitation.pk), now=now)


def revoke(invitation: Invitation, *, actor: Actor, now: datetime) -> None:
    """Revoke an open invitation and its link. A closed invitation is not changed. Raises SecondFactorRequired."""
    require_second_factor(actor)
    with transaction.atomic():
        _end(invitation, actor, now)


def _end(invitation: Invitation, actor: Actor, now: datetime) -> None:
    if Invitation.objects.waiting_at(now).filter(pk=invitation.pk).update(revoked_at=now):
        end_links(PURPOSE, subject=str(invitation.pk), now=now)
        _note("revoked", invitation, actor, now)


def _still_counts(invitation: Invitation) -> bool:
    """Check whether the inviter still has the permission to send the invitation."""
    inviter, role = invitation.invited_by, roles().get(invitation.role)
    if role is None:  # an earlier version declared the role
        return False
    try:
        role.check(inviter, invitation)
    except ApiError:
        return False
    return inviter is None or inviter.is_active


def _note(verb: str, invitation: Invitation, actor: Actor, now: datetime) -> None:
    if invitation.invited_by_id is None:  # an operator's command sent the invitation
        audit.emit(f"invitation.{verb}", actor=audit_actor(actor), entity=audit.entity("invitation", invitation.pk))
        return
    inviter_id, details = invitation.invited_by_id, {"role": invitation.role}
    AccountHistory.note(
        f"invitation.{verb}", actor, account_id=inviter_id, now=now, object_id=invitation.pk, details=details
    )
    _record(verb, invitation, now)


def _record(verb: str, invitation: Invitation, now: datetime) -> None:
    if invitation.invited_by_id is not None:
        members = {"invitation_id": str(invitation.pk), "role": invitation.role}
        record_event(f"invitation.{verb}", account_id=invitation.invited_by_id, now=now, **members)


def remember_in_session(request: HttpRequest, token: str, invitation: Invitation) -> None:
    """Store the invitation in the session for the sign-up. The invitation's link has confirmed the address."""
    request.session[_SESSION_KEY] = token
    request.session["account_verified_email"] = invitation.email


def find_or_none(token: str) -> Invitation | None:
    try:
        return find(token, now=timezone.now())
    except LinkEnded:
        return None


def of_session(request: HttpRequest) -> Invitation | None:
    token = request.session.get(_SESSION_KEY)
    return None if token is None else find_or_none(token)


def requires_name(invitation: Invitation) -> bool:
    """Check whether the sign-up with an invitation requires a name."""
    return roles()[invitation.role].has_name


def link_of_session(request: HttpRequest) -> str:
    """Return the path of the session's invitation."""
    return reverse("account_invitation", args=[request.session[_SESSION_KEY]])


def accept_of_session(request: HttpRequest, user: User) -> Invitation | None:
    """Accept the session's invitation, if any, for a new account. Raises LinkEnded."""
    token = request.session.pop(_SESSION_KEY, None)
    return None if token is None else accept(token, user, timezone.now(), by_link=True)


def outcome_of(invitation: Invitation, user: User) -> Outcome | None:
    """Describe what an account can do after it accepted an invitation.

    Returns None if the account has lost the role.
    """
    role = roles().get(invitation.role)
    return None if role is None else role.outcome(invitation, user)


def confirmation_of(invitation: Invitation) -> str:
    """Return the path of the page that confirms an accepted invitation."""
    return reverse("account_invitation_accepted", args=[invitation.pk])


def forget_in_session(request: HttpRequest) -> None:
    request.session.pop(_SESSION_KEY, None)
