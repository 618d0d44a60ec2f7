from config.core.errors import ApiError


class TermsRequired(ApiError):
    """An approval that names no loan, where reviewers decide about a listed offer."""

    error, code = "terms_required", "E1018"
    message = (
        "The decision must name the loan: its amount, its rate and its term. Omitted values come from the "
        "application (amount, term) and from the offer (its lowest rate)."
    )


class TermsOutsideOffer(ApiError):
    error, code = "terms_outside_offer", "E1019"
    message = "The terms are not among those of the offer as it was at the submission."


class CounterofferOpen(ApiError):
    status, error, code, stored = 409, "counteroffer_open", "E3013", True
    message = "A counteroffer waits for the consumer already: withdraw that one first."
