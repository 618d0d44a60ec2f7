from typing import Any

from django.utils import timezone

from config.api.credentials import FIRST_PARTY
from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, endpoint, require_self
from config.core.errors import UserMismatch
from config.core.ids import get_by_uuid
from config.core.lifecycle import actor_of
from staging import services
from staging.errors import StagedItemNotFound
from staging.machine import STAGED
from staging.models import StagedItem
from staging.serializers import (
    ApprovedAllAnswer,
    ApprovedItemAnswer,
    DecisionBody,
    ItemAnswer,
    ItemBody,
    ItemFilter,
    ItemPageAnswer,
    RejectedAllAnswer,
)

_DECISION_ERRORS = (UserMismatch, StagedItemNotFound)


class StagingViewSet(ApiViewSet):
    """What waits until its owner approves or rejects it."""

    @endpoint(access=FIRST_PARTY, query=PageQuery, filters=ItemFilter, answer=ItemPageAnswer)
    def page(self, request: ApiRequest, query: dict[str, Any]) -> dict[str, Any]:
        """List the caller's own items, newest first.

        Without `status` only what is still staged is shown.
        """
        own = StagedItem.objects.filter(user_id=request.user.pk)
        if "status" not in self.filter_values:
            own = own.filter(status=STAGED)
        items, total = services.item_page(self.filter_queryset(own), **query)
        shown = [ItemAnswer.represent(item) for item in items]
        return {"items": shown, "total": total, "has_more": query["offset"] + len(shown) < total}

    @endpoint(access=FIRST_PARTY, body=ItemBody, answer=ItemAnswer, status=201, idempotent=True)
    def stage(self, request: ApiRequest, body: dict[str, Any]) -> StagedItem:
        """Put an item into staging, for the caller to approve or reject."""
        return services.stage_item(user_id=request.user.pk, now=timezone.now(), **body)

    @endpoint(access=FIRST_PARTY, answer=ItemAnswer, errors=(StagedItemNotFound,))
    def retrieve(self, request: ApiRequest, item_id: str) -> StagedItem:
        """Return one of the caller's own items, decided or not."""
        return get_by_uuid(StagedItem.objects.filter(user_id=request.user.pk), item_id, StagedItemNotFound)

    @endpoint(
        access=FIRST_PARTY, body=DecisionBody, answer=ApprovedItemAnswer, idempotent=True, errors=_DECISION_ERRORS
    )
    def approve(self, request: ApiRequest, item_id: str, body: dict[str, Any]) -> StagedItem:
        """Approve an item: it moves to permanent storage."""
        require_self(request, body["user_id"])
        return services.approve_item(item_id, actor=actor_of(request), now=timezone.now())

    @endpoint(access=FIRST_PARTY, body=DecisionBody, answer=ItemAnswer, idempotent=True, errors=_DECISION_ERRORS)
    def reject(self, request: ApiRequest, item_id: str, body: dict[str, Any]) -> StagedItem:
        """Reject an item: it never moves to permanent storage."""
        require_self(request, body["user_id"])
        return services.reject_item(item_id, actor=actor_of(request), now=timezone.now())

    @endpoint(access=FIRST_PARTY, body=DecisionBody, answer=ApprovedAllAnswer, idempotent=True, errors=(UserMismatch,))
    def approve_all(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:
        """Approve everything that the caller has in staging now, all of it or nothing."""
        require_self(request, body["user_id"])
        approved = services.approve_all(actor=actor_of(request), now=timezone.now())
        return {"approved": len(approved), "item_ids": approved}

    @endpoint(access=FIRST_PARTY, body=DecisionBody, answer=RejectedAllAnswer, idempotent=True, errors=(UserMismatch,))
    def reject_all(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:
        """Reject everything that the caller has in staging now, all of it or nothing."""
        require_self(request, body["user_id"])
        rejected = services.reject_all(actor=actor_of(request), now=timezone.now())
        return {"rejected": len(rejected), "item_ids": rejected}
