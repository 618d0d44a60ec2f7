from typing import Any

from config.api import serializers
from staging.machine import MACHINE
from staging.registry import KINDS, kind_names


class KindField(serializers.IdField):
    default_error_messages = {"unknown": "Must be one of: {allowed}."}

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if name not in KINDS:
            self.fail("unknown", allowed=", ".join(kind_names()))
        return name


class ItemBody(serializers.RequestSerializer):
    """An item to stage."""

    kind = KindField(help_text="What the payload is, for example `note` or `claim`.")
    payload = serializers.FreeField(
        help_text="What becomes permanent when the item is approved; its kind says what it holds."
    )
    source = serializers.IdField(allow_null=True, default=None, help_text="Where the payload comes from.")  # type: ignore[assignment]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Hold the payload against its kind; what the kind does not know is dropped."""
        try:
            attrs["payload"] = KINDS[attrs["kind"]].payload.shared().run_validation(attrs["payload"])
        except serializers.ValidationError as error:
            raise serializers.ValidationError({"payload": error.detail}) from error
        return attrs


class NotePayload(serializers.RequestSerializer):
    """A note."""

    text = serializers.TextField(min_length=1)
    title = serializers.IdField(allow_null=True, required=False)


class DecisionBody(serializers.RequestSerializer):
    """StagingApproval: whose items are decided about."""

    user_id = serializers.IdField(help_text="Whose items: your own user_id, as text.")


class ItemFilter(serializers.FilterSet):
    status = serializers.QueryFilter(
        serializers.StatusField(MACHINE.statuses, required=False, help_text="Without it: what is still staged.")
    )
    kind = serializers.QueryFilter(
        KindField(required=False, help_text="Only items of this kind, for example `note` or `claim`.")
    )


class ItemAnswer(serializers.ResponseSerializer):
    """An item."""

    id = serializers.UUIDField(help_text="The item's id.")
    user_id = serializers.TextField(help_text="Whose item it is.")
    kind = serializers.TextField(help_text="What the payload is, for example `note` or `claim`.")
    status = serializers.StatusField(MACHINE.statuses)
    source = serializers.TextField(allow_null=True, help_text="Where the payload comes from; null where nobody said.")  # type: ignore[assignment]
    payload = serializers.FreeField(
        help_text="What becomes permanent when the item is approved; its kind says what it holds."
    )
    payload_sha256 = serializers.TextField(help_text="SHA-256 of the payload as compact JSON with sorted keys, in hex.")
    staged_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)


class ItemPageAnswer(serializers.PageAnswer):
    """A page of items."""

    items = ItemAnswer(many=True, help_text="The newest first.")


class ApprovedItemAnswer(ItemAnswer):
    """An item that was approved, and what it became."""

    stored_id = serializers.TextField(help_text="The id of the permanent row, in the table of the item's kind.")


class ApprovedAllAnswer(serializers.ResponseSerializer):
    """Every item that was approved."""

    approved = serializers.Int64Field(help_text="How many.")
    item_ids: Any = serializers.StrictListField(
        child=serializers.TextField(), help_text="The items that were approved."
    )


class RejectedAllAnswer(serializers.ResponseSerializer):
    """Every item that was rejected."""

    rejected = serializers.Int64Field(help_text="How many.")
    item_ids: Any = serializers.StrictListField(
        child=serializers.TextField(), help_text="The items that were rejected."
    )
