from typing import Any

from config.api import serializers
from staging.machine import MACHINE
from staging.models import StagedItem
from staging.registry import kinds


class KindField(serializers.IdField):
    default_error_messages = {"unknown": "Must be one of: {allowed}."}

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if name not in kinds():
            self.fail("unknown", allowed=", ".join(kinds()))
        return name


class ItemRequestSerializer(serializers.RequestSerializer):
    """An item to stage."""

    kind = KindField(help_text="The kind of the payload, for example `note` or `claim`.")
    payload = serializers.FreeField(
        shape=serializers.OPEN_OBJECT,
        help_text="The data that an approval stores. The fields depend on `kind`; unknown fields are removed.",
    )
    source = serializers.IdField(allow_null=True, default=None, help_text="The source of the payload.")  # type: ignore[assignment]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Validate the payload according to its kind, and remove unknown fields."""
        try:
            attrs["payload"] = kinds()[attrs["kind"]].payload.shared().run_validation(attrs["payload"])
        except serializers.ValidationError as error:
            raise serializers.ValidationError({"payload": error.detail}) from error
        return attrs


class NotePayload(serializers.RequestSerializer):
    """A note."""

    text = serializers.TextField(min_length=1)
    title = serializers.IdField(allow_null=True, required=False)


class DecisionRequestSerializer(serializers.RequestSerializer):
    """The owner of the items to decide."""

    user_id = serializers.IdField(help_text="The owner of the items: your own user_id, as a string.")


class ItemFilter(serializers.FilterSet):
    status = serializers.QueryFilter(
        serializers.StatusField(
            MACHINE.statuses,
            required=False,
            help_text="Only items with this status. Default: `staged`.",
        )
    )
    kind = serializers.QueryFilter(
        KindField(required=False, help_text="Only items of this kind, for example `note` or `claim`.")
    )


class ItemQuery(serializers.PageQuery):
    filterset_class = ItemFilter


class ItemSerializer(serializers.ModelResponseSerializer):
    """An item."""

    unweighed = 0  # only the size of a request body limits the size of a payload

    class Meta:
        model = StagedItem
        fields = ["id", "user_id", "kind", "status", "source", "payload", "payload_sha256", "staged_at", "decided_at"]
        extra_kwargs = {"payload": {"shape": serializers.OPEN_OBJECT}}


class ItemPageSerializer(serializers.PageSerializer):
    """A page of items."""

    items = ItemSerializer(many=True, help_text="The items, newest first.")


class ApprovedItemSerializer(ItemSerializer):
    """An approved item, and the id of the record that the approval created."""

    stored_id = serializers.TextField(
        help_text="The id of the record that the approval created. `kind` defines the type of the record."
    )

    class Meta(ItemSerializer.Meta):
        fields = [*ItemSerializer.Meta.fields, "stored_id"]


class ApprovedAllSerializer(serializers.ResponseSerializer):
    """The approved items."""

    approved = serializers.Int64Field(help_text="The number of approved items.")
    item_ids = serializers.ListField(child=serializers.TextField(), help_text="The items that were approved.")


class RejectedAllSerializer(serializers.ResponseSerializer):
    """The rejected items."""

    rejected = serializers.Int64Field(help_text="The number of rejected items.")
    item_ids = serializers.ListField(child=serializers.TextField(), help_text="The items that were rejected.")
