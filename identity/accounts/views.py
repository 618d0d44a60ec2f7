from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.response import Response

from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, also_answers, endpoint
from config.core.credentials import LOG_IN, InsufficientScope
from config.core.errors import NotFound, ValidationFailed
from config.core.ids import get_by_uuid
from config.core.lifecycle import RecordNotEditable, SecondFactorRequired, actor_of
from identity.accounts import invitations, managed, serializers
from identity.accounts.models import Invitation, ManagedAccount
from identity.errors import AccessEnded, AccountNotFound

SCOPE = "accounts:write"
_OF_ONE = (InsufficientScope, AccountNotFound, AccessEnded)


class AccountInvitationViewSet(ApiViewSet):
    """Accounts of partners' customers, invitations by mail, consents, exports, and erasures."""

    tag = "accounts"

    @endpoint(access=LOG_IN, page=PageQuery, answer=serializers.AccountInvitationsPageSerializer)
    def list(self, request: ApiRequest) -> Any:
        """List sent invitations.

        The newest invitation is first.
        """
        return invitations.invitations_of(request.user)

    @endpoint(
        access=LOG_IN,
        body=serializers.AccountInvitationRequestSerializer,
        answer=serializers.AccountInvitationSerializer,
        status=201,
        idempotent=True,
        errors=(InsufficientScope, SecondFactorRequired, ValidationFailed, NotFound),
    )
    def create(self, request: ApiRequest, body: dict[str, Any]) -> Invitation:
        """Invite an email address.

        The API emails a link that works once, within 7 days, for the invited address. An account has at most 50 open
        invitations.

        If the account has a second factor, you must have logged in with it. Owners of a lender invite its members.
        Accounts that can change users invite staff. Other invitations require the permission to invite. The response is
        the same for known and unknown addresses. Your account can send 100 mails per hour to addresses that it enters.
        After that, the API returns 429 `E6001` with `Retry-After`. An address gets at most 10 mails per hour. After
        that, the API sends no mail to this address, and returns no error.
        """
        return invitations.invite(actor=actor_of(request), **body, now=timezone.now())

    @endpoint(access=LOG_IN, idempotent=True, errors=(NotFound, SecondFactorRequired))
    def revoke(self, request: ApiRequest, invitation_id: str) -> None:
        """Revoke an invitation.

        The link of the invitation becomes invalid. If the invitation is already closed, the request changes nothing.
        """
        own = invitations.invitations_of(request.user)
        invitation = get_by_uuid(own, invitation_id, NotFound("Invitation not found."))
        invitations.revoke(invitation, actor=actor_of(request), now=timezone.now())


class ManagedAccountViewSet(ApiViewSet):
    """Accounts that a partner creates for its customers, and tokens with which it acts on their behalf."""

    tag = "accounts"

    @endpoint(access=SCOPE, page=serializers.AccountQuery, answer=serializers.ManagedAccountsPageSerializer)
    def list(self, request: ApiRequest) -> Any:
        """List managed accounts.

        The list has the accounts that you created and still have access to, newest first.
        """
        return managed.accounts_of(request.user)

    @also_answers(200, serializers.ManagedAccountSerializer, "An account with this `external_id` exists.")
    @endpoint(
        access=SCOPE,
        body=serializers.ManagedAccountRequestSerializer,
        answer=serializers.ManagedAccountSerializer,
        status=201,
        idempotent=True,
        errors=(InsufficientScope, AccessEnded, ValidationFailed),
    )
    def create(self, request: ApiRequest, body: dict[str, Any]) -> ManagedAccount | HttpResponse:
        """Create an account for a customer.

        If an account with this `external_id` exists, the API returns it with 200. If your access to it has ended, the
        API returns 403 `E2013`.

        Requires the permission of the group `Partner`. An invitation or a superuser adds an account to this group. If
        the request has `email`, the API sends the customer a link to claim the account. Until the customer claims the
        account, a repeated request sends a new link in two cases: the last link has expired, or it went to another
        address. Your account can send 100 mails per hour to addresses that it enters. After that, the API returns 429
        `E6001` with `Retry-After`, and creates no account. An address gets at most 10 mails per hour. After that, the
        API sends no mail to this address, and returns no error.
        """
        account, is_new = managed.make_account(actor_of(request), **body, now=timezone.now())
        return account if is_new else Response(serializers.ManagedAccountSerializer.represent(account))

    @endpoint(access=SCOPE, answer=serializers.ManagedAccountSerializer, errors=_OF_ONE)
    def retrieve(self, request: ApiRequest, account_id: str) -> ManagedAccount:
        """Get a managed account."""
        return managed.load_account(actor_of(request), account_id)

    @endpoint(access=SCOPE, idempotent=True, errors=(*_OF_ONE, RecordNotEditable))
    def disable(self, request: ApiRequest, account_id: str) -> None:
        """Disable a managed account.

        The account can't log in, and no app or partner can act on its behalf. The API deletes the `email` and `name`
        that you sent. The API retains the account's other records.

        If the customer has claimed the account, the account stays active, and only your access to it ends. If the
        customer has not claimed the account, the API returns 400 `E3004` while the account has an in-flight payment.
        """
        managed.disable_account(actor_of(request), account_id, now=timezone.now())

    @endpoint(
        access=SCOPE,
        body=serializers.ActingTokenRequestSerializer,
        answer=serializers.ActingTokenSerializer,
        status=201,
        errors=(*_OF_ONE, RecordNotEditable),
    )
    def issue_token(self, request: ApiRequest, account_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Create an access token for a customer.

        The token acts on behalf of the customer for 15 minutes.

        The token has your id in `act` (RFC 8693, section 4.1). For each change that you make with the token, the audit
        log records your account. The token can't decide, pay, or create another token. Apps can't create these tokens.
        """
        if request.auth.delegated:
            raise InsufficientScope("Apps can't create tokens on behalf of a partner's customer.")
        return managed.issue_token(actor_of(request), account_id, scopes=body["scopes"], now=timezone.now())
