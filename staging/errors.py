from config.core.errors import ApiError


class StagedItemNotFound(ApiError):
    """The item doesn't exist, or is another account's. For a decision, also: the item is already decided."""

    status, error, code, stored = 404, "staging_item_not_found", "E4007", True
    message = "Item not found in staging."
