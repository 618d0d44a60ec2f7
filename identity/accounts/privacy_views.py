"""Endpoints of a person's rights: consents, copies of the data, and erasure; for a partner's customers, too."""

from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone
from rest_framework.decorators import renderer_classes

from config.api.renderers import renderer_for
from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import FIRST_PARTY, LOG_IN, InsufficientScope
from config.core.errors import NotFound
from config.core.lifecycle import Actor, RecordNotEditable, SecondFactorRequired, actor_of
from identity.access.second_factor import require_second_factor
from identity.access.tokens import require_recent_log_in
from identity.accounts import consents, erasure, exports, managed
from identity.accounts.models import Erasure, Export, ManagedAccount
from identity.accounts.serializers import AccountConsentsPageSerializer, ErasureSerializer, ExportSerializer
from identity.errors import AccessEnded, AccountNotFound, ErasureNotPossible, LogInTooOld

PARTNER_SCOPE = "accounts:write"
ZIP = "application/zip"
_OF_CUSTOMER = (InsufficientScope, AccountNotFound, AccessEnded, RecordNotEditable)


def _customer_of(
    request: ApiRequest, account_id: str, *, second_factor: bool = False, also_erased: bool = False
) -> tuple[Actor, ManagedAccount]:
    """Return the partner and the customer. An app would reach all customers: it gets InsufficientScope."""
    if request.auth.delegated:
        raise InsufficientScope("Apps can't use a customer's rights. Send the partner's own token or API key.")
    actor = actor_of(request)
    if second_factor:
        require_second_factor(actor)
    return actor, managed.load_unclaimed(actor, account_id, also_erased=also_erased)


def zip_response(actor: Actor, export: Export) -> StreamingHttpResponse:
    """Return the zip of an export as a download. Raises NotFound for one without a file."""
    headers = {"Content-Disposition": 'attachment; filename="my-data.zip"', "Cache-Control": "no-store"}
    chunks = exports.read_export(actor, export, now=timezone.now())
    return StreamingHttpResponse(chunks, content_type=ZIP, headers=headers)


class AccountConsentViewSet(ApiViewSet):
    """The consents of the caller's own account."""

    tag = "accounts"

    @endpoint(access=FIRST_PARTY, page=PageQuery, answer=AccountConsentsPageSerializer)
    def list(self, request: ApiRequest) -> Any:
        """List your consents.

        The newest is first. A consent without `ended_at` is in effect.
        """
        return consents.consents_of(request.user)

    @endpoint(access=FIRST_PARTY, idempotent=True, errors=(NotFound,))
    def destroy(self, request: ApiRequest, consent_id: str) -> None:
        """End a consent.

        The effect depends on `kind`. For an app, the API revokes its tokens. For a bank, it unlinks the bank and
        removes it at the vendor. For notices by mail and for data shared with a lender, it stops them. A decision keeps
        the data that the lender already used. Idempotent.
        """
        consents.end_consent(actor_of(request), consent_id, now=timezone.now())


class AccountErasureViewSet(ApiViewSet):
    """The erasure of the caller's own account."""

    tag = "accounts"

    @endpoint(
        access=LOG_IN,
        answer=ErasureSerializer,
        status=201,
        idempotent=True,
        errors=(SecondFactorRequired, ErasureNotPossible),
    )
    def create(self, request: ApiRequest) -> Erasure:
        """Request the erasure of your account.

        The erasure starts after 14 days. You can cancel it before that. It is completed within 30 days of the request.
        If the account has a second factor, the log-in requires it. A second request returns the first erasure.

        If the account has an obstacle, the API returns 400 `E3021`. `details.obstacles` lists each obstacle, and when
        it ends.
        """
        erasure.request_erasure(actor_of(request), request.user.pk, now=timezone.now())
        return erasure.show_erasure(request.user)

    @endpoint(access=LOG_IN, answer=ErasureSerializer)
    def retrieve(self, request: ApiRequest) -> Erasure:
        """Get the erasure of your account.

        If none is requested, `status` is `none`. `obstacles` lists what must end before the erasure can start.
        """
        return erasure.show_erasure(request.user)

    @endpoint(access=LOG_IN, idempotent=True, errors=(RecordNotEditable,))
    def destroy(self, request: ApiRequest) -> None:
        """Cancel the erasure of your account.

        The erasure can be canceled within 14 days of the request. Idempotent.
        """
        erasure.cancel_erasure(actor_of(request), request.user.pk, now=timezone.now())


class AccountExportViewSet(ApiViewSet):
    """Copies of the data of the caller's own account."""

    tag = "accounts"

    @endpoint(
        access=LOG_IN,
        answer=ExportSerializer,
        status=202,
        idempotent=True,
        errors=(SecondFactorRequired, LogInTooOld),
    )
    def create(self, request: ApiRequest) -> Export:
        """Request a copy of your data.

        The log-in must be at most 10 minutes old. If the account has a second factor, the log-in requires it. A worker
        writes the zip. Poll until `status` is `ready`. A second request within 24 hours returns the first export.
        """
        require_recent_log_in(request.auth, now=timezone.now())
        actor = actor_of(request)
        return exports.request_export(actor, actor.user.pk, now=timezone.now())

    @endpoint(access=LOG_IN, answer=ExportSerializer, errors=(NotFound,))
    def retrieve(self, request: ApiRequest, export_id: str) -> Export:
        """Get an export."""
        return exports.load_export(actor_of(request), request.user.pk, export_id)

    @renderer_classes([renderer_for(ZIP)])
    @endpoint(access=LOG_IN, errors=(NotFound, SecondFactorRequired, LogInTooOld))
    def file(self, request: ApiRequest, export_id: str) -> StreamingHttpResponse:
        """Download the zip of an export.

        The log-in must be at most 10 minutes old. The API deletes the zip after 7 days.
        """
        require_recent_log_in(request.auth, now=timezone.now())
        actor = actor_of(request)
        return zip_response(actor, exports.load_export(actor, actor.user.pk, export_id))


class ManagedExportViewSet(ApiViewSet):
    """Copies of the data of a partner's customer."""

    tag = "accounts"

    @endpoint(
        access=PARTNER_SCOPE,
        answer=ExportSerializer,
        status=202,
        idempotent=True,
        errors=(*_OF_CUSTOMER, SecondFactorRequired),
    )
    def create(self, request: ApiRequest, account_id: str) -> Export:
        """Request a copy of a customer's data.

        If the customer has claimed the account, the API returns 400 `E3004`: only the customer can request the copy.
        """
        actor, account = _customer_of(request, account_id, second_factor=True)
        return exports.request_export(actor, account.pk, now=timezone.now())

    @endpoint(access=PARTNER_SCOPE, answer=ExportSerializer, errors=(*_OF_CUSTOMER, NotFound))
    def retrieve(self, request: ApiRequest, account_id: str, export_id: str) -> Export:
        """Get an export of a customer's data."""
        actor, account = _customer_of(request, account_id)
        return exports.load_export(actor, account.pk, export_id)

    @renderer_classes([renderer_for(ZIP)])
    @endpoint(access=PARTNER_SCOPE, errors=(*_OF_CUSTOMER, SecondFactorRequired, NotFound))
    def file(self, request: ApiRequest, account_id: str, export_id: str) -> StreamingHttpResponse:
        """Download the zip of a customer's export."""
        actor, account = _customer_of(request, account_id, second_factor=True)
        return zip_response(actor, exports.load_export(actor, account.pk, export_id))


class ManagedErasureViewSet(ApiViewSet):
    """The erasure of a partner's customer."""

    tag = "accounts"

    @endpoint(
        access=PARTNER_SCOPE,
        answer=ErasureSerializer,
        status=201,
        idempotent=True,
        errors=(*_OF_CUSTOMER, SecondFactorRequired, ErasureNotPossible),
    )
    def create(self, request: ApiRequest, account_id: str) -> Erasure:
        """Request the erasure of a customer's account.

        If the customer has claimed the account, the API returns 400 `E3004`: only the customer can request the erasure.
        """
        actor, account = _customer_of(request, account_id)
        erasure.request_erasure(actor, account.pk, now=timezone.now())
        return erasure.show_erasure(account.user)

    @endpoint(access=PARTNER_SCOPE, answer=ErasureSerializer, errors=_OF_CUSTOMER)
    def retrieve(self, request: ApiRequest, account_id: str) -> Erasure:
        """Get the erasure of a customer's account.

        You can also get it after the erasure is completed. If none is requested, `status` is `none`.
        """
        return erasure.show_erasure(_customer_of(request, account_id, also_erased=True)[1].user)

    @endpoint(access=PARTNER_SCOPE, idempotent=True, errors=_OF_CUSTOMER)
    def destroy(self, request: ApiRequest, account_id: str) -> None:
        """Cancel the erasure of a customer's account.

        The erasure can be canceled within 14 days of the request. Idempotent.
        """
        actor, account = _customer_of(request, account_id)
        erasure.cancel_erasure(actor, account.pk, now=timezone.now())
