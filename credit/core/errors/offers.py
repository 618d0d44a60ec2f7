from config.core.errors import ApiError


class OfferNotFound(ApiError):
    """No such offer, or not the caller's to change."""

    status, error, code, message, stored = 404, "offer_not_found", "E4004", "Offer not found.", True


class OfferUnavailable(ApiError):
    error, code, message = "offer_unavailable", "E1011", "The offer is not open to applications."


class ProviderNotFound(ApiError):
    """No such provider, or not one that the caller acts for."""

    status, error, code, message, stored = 404, "provider_not_found", "E4012", "Provider not found.", True


class ProviderTaken(ApiError):
    status, error, code = 403, "provider_taken", "E2011"
    message = "This provider id belongs to another account."
