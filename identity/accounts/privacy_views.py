"""Endpoints for privacy rights: consents, copies of the data, and erasure.

A partner has the same endpoints for its customers, under `/v1/accounts/{account_id}`, with a separate scope.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone
from rest_framework.decorators import renderer_classes

from config.api.renderers import renderer_for
from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import FIRST_PARTY, LOG_IN, InsufficientScope
from config.core.errors import ApiError, NotFound
from config.core.lifecycle import Actor, RecordNotEditable, SecondFactorRequired, actor_of
from identity.access.second_factor import require_second_factor
from identity.access.tokens import require_recent_log_in
from identity.accounts import consents, erasure, exports, managed
from identity.accounts.models import Erasure, Export
from identity.accounts.serializers import AccountConsentsPageSerializer, ErasureSerializer, ExportSerializer
from identity.errors import AccessEnded, AccountNotFound, ErasureNotPossible, LogInTooOld

ZIP = "application/zip"
_changes = partial(endpoint, access=LOG_IN, idempotent=True)
_OF_CUSTOMER = (InsufficientScope, AccountNotFound, AccessEnded, RecordNotEditable)


def _own_account(request: ApiRequest, *, is_copied: bool = False, **_options: bool) -> tuple[Actor, Any]:
    """Return the caller and its own account. A copy of the data requires a log-in within the last 10 minutes."""
    if is_copied:
        require_recent_log_in(request.auth, now=timezone.now())
    return actor_of(request), request.user


def _customers_account(
    request: ApiRequest, account_id: str, *, is_copied: bool = False, also_erased: bool = False
) -> tuple[Actor, Any]:
    """Return the partner, and the customer's account. A copy of the data requires the partner's second factor.

    Raises InsufficientScope for an app, because an app could otherwise access the data of all customers.
    """
    if request.auth.delegated:
        raise InsufficientScope("Apps can't use a customer's rights. Send the partner's own token or API key.")
    actor = actor_of(request)
    if is_copied:
        require_second_factor(actor)
    return actor, managed.load_unclaimed(actor, account_id, also_erased=also_erased).user


def _for_customers(method: Any, text: str, *errors: type[ApiError]) -> Any:
    """Return a variant of an own-account endpoint for partners, with further errors and the description `text`."""

    @wraps(method)
    def handle(view: ApiViewSet, request: ApiRequest, **arguments: str) -> Any:
        return method(view, request, **arguments)

    of_customer = (*_OF_CUSTOMER, *errors)
    handle.endpoint = replace(method.endpoint, access="accounts:write", errors=of_customer)  # type: ignore[attr-defined]
    handle.__doc__ = text
    return handle


def zip_response(actor: Actor, export: Export) -> StreamingHttpResponse:
    """Return the zip of an export as a download. Raises NotFound for an export without a file."""
    headers = {"Content-Disposition": 'attachment; filename="my-data.zip"', "Cache-Control": "no-store"}
    chunks = exports.read_export(actor, export, now=timezone.now())
    return StreamingHttpResponse(chunks, content_type=ZIP, headers=headers)


class AccountConsentViewSet(ApiViewSet):
    """The consents of the caller's own account."""

    tag = "accounts"

    @endpoint(access=FIRST_PARTY, page=PageQuery, answer=AccountConsentsPageSerializer)
    def list(self, request: ApiRequest) -> Any:
        """List your consents.

        The newest consent is first. A consent whose `ended_at` is null is in effect.
        """
        return consents.consents_of(request.user)

    @endpoint(access=FIRST_PARTY, idempotent=True, errors=(NotFound,))
    def destroy(self, request: ApiRequest, consent_id: str) -> None:
        """End a consent.

        The effect depends on `kind`. For an app, the API revokes its tokens and disables its webhook endpoints. For a
        bank, the API unlinks the bank and removes it at the vendor. For electronic notices, the lender delivers later
        notices by post or by its own channel. Risk-based pricing notices can still be electronic. For data shared with
        a lender, the API stops the sharing. For a credit report, the purpose `written_instructions` no longer permits
        the lender to request this report for the application. The API retains the data of earlier decisions.
        Idempotent.
        """
        consents.end_consent(actor_of(request), consent_id, now=timezone.now())


class AccountErasureViewSet(ApiViewSet):
    """The erasure of the caller's own account."""

    tag = "accounts"
    account_of: Callable[..., tuple[Actor, Any]] = staticmethod(_own_account)

    @_changes(answer=ErasureSerializer, status=201, errors=(SecondFactorRequired, ErasureNotPossible))
    def create(self, request: ApiRequest, **account: str) -> Erasure:
        """Request the erasure of your account.

        The erasure starts after 14 days, and is due within 30 days of the request. An obstacle that arises later delays
        the erasure. You can cancel the erasure before it starts. If the account has a second factor, you must have
        logged in with it. A second request returns the first erasure, unless you canceled it.

        If the account has an obstacle, the API returns 400 `E3021`. `details.obstacles` lists the `reason` of each
        obstacle. `until` is the next deadline of an open application, or null if there is none.
        """
        actor, user = self.account_of(request, **account)
        erasure.request_erasure(actor, user.pk, now=timezone.now())
        return erasure.show_erasure(user)

    @endpoint(access=LOG_IN, answer=ErasureSerializer)
    def retrieve(self, request: ApiRequest, **account: str) -> Erasure:
        """Get the erasure of your account.

        If no erasure is requested, `status` is `none`. `obstacles` lists the reasons that prevent or delay the erasure.
        """
        return erasure.show_erasure(self.account_of(request, **account, also_erased=True)[1])

    @_changes(errors=(RecordNotEditable,))
    def destroy(self, request: ApiRequest, **account: str) -> None:
        """Cancel the erasure of your account.

        The erasure can be canceled until it starts. Idempotent.
        """
        actor, user = self.account_of(request, **account)
        erasure.cancel_erasure(actor, user.pk, now=timezone.now())


class ManagedErasureViewSet(AccountErasureViewSet):
    """The erasure of a partner's customer."""

    account_of = staticmethod(_customers_account)
    create = _for_customers(
        AccountErasureViewSet.create,
        """Request the erasure of a customer's account.

        If the customer has claimed the account, the API returns 400 `E3004`: only the customer can request the erasure.
        Apps get 403 `E2005`. If your account has a second factor, the credential must have it.
        """,
        SecondFactorRequired,
        ErasureNotPossible,
    )
    retrieve = _for_customers(
        AccountErasureViewSet.retrieve,
        """Get the erasure of a customer's account.

        You can also get a completed erasure. If no erasure is requested, `status` is `none`. If the customer has
        claimed the account, the API returns 400 `E3004`. Apps get 403 `E2005`.
        """,
    )
    destroy = _for_customers(
        AccountErasureViewSet.destroy,
        """Cancel the erasure of a customer's account.

        The erasure can be canceled until it starts. Idempotent. If the customer has claimed the account, the API
        returns 400 `E3004`. Apps get 403 `E2005`.
        """,
    )


class AccountExportViewSet(ApiViewSet):
    """Copies of the data of the caller's own account."""

    tag = "accounts"
    account_of: Callable[..., tuple[Actor, Any]] = staticmethod(_own_account)

    @_changes(answer=ExportSerializer, status=202, errors=(SecondFactorRequired, LogInTooOld))
    def create(self, request: ApiRequest, **account: str) -> Export:
        """Request a copy of your data.

        The log-in must be at most 10 minutes old. If the account has a second factor, you must have logged in with it.
        A worker writes the zip. Poll until `status` is `ready` or `failed`. A second request within 24 hours returns
        the first export, unless it failed.
        """
        actor, user = self.account_of(request, **account, is_copied=True)
        return exports.request_export(actor, user.pk, now=timezone.now())

    @endpoint(access=LOG_IN, answer=ExportSerializer, errors=(NotFound,))
    def retrieve(self, request: ApiRequest, export_id: str, **account: str) -> Export:
        """Get an export."""
        actor, user = self.account_of(request, **account)
        return exports.load_export(actor, user.pk, export_id).as_of(timezone.now())

    @renderer_classes([renderer_for(ZIP)])
    @endpoint(access=LOG_IN, errors=(NotFound, SecondFactorRequired, LogInTooOld))
    def file(self, request: ApiRequest, export_id: str, **account: str) -> StreamingHttpResponse:
        """Download the zip of an export.

        The log-in must be at most 10 minutes old. If the account has a second factor, you must have logged in with it.
        The zip is available for 7 days.
        """
        actor, user = self.account_of(request, **account, is_copied=True)
        return zip_response(actor, exports.load_export(actor, user.pk, export_id))


class ManagedExportViewSet(AccountExportViewSet):
    """Copies of the data of a partner's customer."""

    account_of = staticmethod(_customers_account)
    create = _for_customers(
        AccountExportViewSet.create,
        """Request a copy of a customer's data.

        If the customer has claimed the account, the API returns 400 `E3004`: only the customer can request the copy.
        Apps get 403 `E2005`. If your account has a second factor, the credential must have it.
        """,
        SecondFactorRequired,
    )
    retrieve = _for_customers(
        AccountExportViewSet.retrieve,
        """Get an export of a customer's data.

        If the customer has claimed the account, the API returns 400 `E3004`. Apps get 403 `E2005`.
        """,
        NotFound,
    )
    file = _for_customers(
        AccountExportViewSet.file,
        """Download the zip of a customer's export.

        If the customer has claimed the account, the API returns 400 `E3004`. Apps get 403 `E2005`. If your account has
        a second factor, the credential must have it.
        """,
        SecondFactorRequired,
        NotFound,
    )
