"""The base classes of the payment views."""

from contextlib import suppress
from typing import Any

from config.api.views import ApiViewSet
from config.core.credentials import PUBLIC, SAFE_METHODS
from config.core.errors import MalformedJSON
from config.core.json_bodies import parse_json, read_body
from payments.screening import reject_card_numbers


class CardFreeViewSet(ApiViewSet):
    """The base class of all views under `/payments` and `/wallet`. Rejects card numbers in the body and in the path."""

    def initial(self, request: Any, *arguments: Any, **named: Any) -> None:
        super().initial(request, *arguments, **named)
        reject_card_numbers(self.kwargs)
        # The card processor calls the public endpoints, and never sends a card number.
        if self.action is None or self.declared.access == PUBLIC:
            return
        if self.declared.body is not None:
            reject_card_numbers(request.data)
        elif request.method not in SAFE_METHODS:
            with suppress(MalformedJSON):  # the endpoint has no body, so invalid JSON is ignored
                reject_card_numbers(parse_json(read_body(request)))


class PaymentsViewSet(CardFreeViewSet):
    tag = "payments"
    write_limit = "payment"
