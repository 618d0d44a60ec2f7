from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from config.api import heavy
from config.api.views import ApiRequest, ApiViewSet, endpoint, require_self
from config.core.credentials import FIRST_PARTY
from config.core.errors import UserMismatch
from config.core.ids import get_by_uuid
from config.core.lifecycle import RecordNotEditable, actor_of
from staging import serializers, services
from staging.errors import StagedItemNotFound
from staging.machine import STAGED
from staging.models import StagedItem

_changes = partial(endpoint, access=FIRST_PARTY, idempotent=True)
_DECISION_ERRORS = (UserMismatch, StagedItemNotFound)
_decides_all = partial(
    endpoint, access=FIRST_PARTY, body=serializers.DecisionRequestSerializer, idempotent=True, errors=(UserMismatch,)
)


class StagingViewSet(ApiViewSet):
    """Staged items that the owner approves or rejects."""

    @endpoint(access=FIRST_PARTY, page=serializers.ItemQuery, answer=serializers.ItemPageSerializer)
    def list(self, request: ApiRequest) -> QuerySet[StagedItem]:
        """List your items.

        The newest item is first. Without `status`, the list has only items with the status `staged`.
        """
        own = StagedItem.objects.filter(user_id=request.user.pk).order_by("-id")
        return own if "status" in self.filter_values else own.filter(status=STAGED)

    @_changes(body=serializers.ItemRequestSerializer, answer=serializers.ItemSerializer, status=201)
    def stage(self, request: ApiRequest, body: dict[str, Any]) -> StagedItem:
        """Stage an item.

        You approve or reject the item later. After 30 days without a decision, the item expires.
        """
        return services.stage_item(user_id=request.user.pk, now=timezone.now(), **body)

    @endpoint(access=FIRST_PARTY, answer=serializers.ItemSerializer, errors=(StagedItemNotFound,))
    def retrieve(self, request: ApiRequest, item_id: str) -> StagedItem:
        """Get a staged item.

        You can get your items in every status.
        """
        return get_by_uuid(StagedItem.objects.filter(user_id=request.user.pk), item_id, StagedItemNotFound)

    @_changes(
        body=serializers.DecisionRequestSerializer,
        answer=serializers.ApprovedItemSerializer,
        errors=(*_DECISION_ERRORS, RecordNotEditable),
    )
    def approve(self, request: ApiRequest, item_id: str, body: dict[str, Any]) -> StagedItem:
        """Approve a staged item.

        The API stores the payload permanently.
        """
        require_self(request, body["user_id"])
        return services.approve_item(item_id, actor=actor_of(request), now=timezone.now())

    @_changes(body=serializers.DecisionRequestSerializer, answer=serializers.ItemSerializer, errors=_DECISION_ERRORS)
    def reject(self, request: ApiRequest, item_id: str, body: dict[str, Any]) -> StagedItem:
        """Reject a staged item.

        The item retains its payload, but the API never creates a record from the payload.
        """
        require_self(request, body["user_id"])
        return services.reject_item(item_id, actor=actor_of(request), now=timezone.now())

    @heavy.operation()
    @_decides_all(answer=serializers.ApprovedAllSerializer)
    def approve_all(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:
        """Approve all staged items.

        The API approves all of your staged items, or none. The API skips items of a kind that no longer exists.
        """
        require_self(request, body["user_id"])
        item_ids = services.approve_all(actor=actor_of(request), now=timezone.now())
        return {"approved": len(item_ids), "item_ids": item_ids}

    @heavy.operation()
    @_decides_all(answer=serializers.RejectedAllSerializer)
    def reject_all(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:
        """Reject all staged items.

        The API rejects all of your staged items, or none.
        """
        require_self(request, body["user_id"])
        item_ids = services.reject_all(actor=actor_of(request), now=timezone.now())
        return {"rejected": len(item_ids), "item_ids": item_ids}
