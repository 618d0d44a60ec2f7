from config.core.errors import ApiError


class StagedItemNotFound(ApiError):
    """The item doesn't exist, belongs to another account, or, for a decision, is already decided."""

    status, error, code, stored = 404, "staging_item_not_found", "E4007", True
    message = "Item not found in staging."
