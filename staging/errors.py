from config.core.errors import ApiError


class StagedItemNotFound(ApiError):
    """No such item, another account's, or (for a decision) one that has been decided."""

    status, error, code, stored = 404, "staging_item_not_found", "E4007", True
    message = "Item not found in staging."
