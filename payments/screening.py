"""Card numbers are refused before anything else is done with a body, and are never repeated in what is said of it."""

import re
from typing import Any

from config.api.errors import ApiError
from config.api.views import ApiViewSet

# 13 to 19 digits, spaces and dashes between them ignored.
_CARD_LIKE = re.compile(r"[2-6](?:[ -]*[0-9]){12,18}", re.ASCII)


class CardDataRefused(ApiError):
    """A body holds something that can only be a card number."""

    error, code = "card_data_refused", "E1012"
    message = "The body holds a card number. Send the processor's token instead; the number was not kept."


class PaymentsViewSet(ApiViewSet):
    """The base of every endpoint under `/payments`: bodies are screened, calls have a limit of their own."""

    tag = "payments"
    write_limit = "payment"

    def screen(self, document: Any) -> None:
        """Raise CardDataRefused when any text in the body, however deep, is a card number."""
        if holds_card_number(document):
            raise CardDataRefused


def holds_card_number(document: Any) -> bool:
    """Say whether a string anywhere in a JSON document is a card number."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if is_card_number(value):
                return True
        elif isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value
    return False


def is_card_number(text: str) -> bool:
    """Say whether a text is 13 to 19 digits that begin with 2 to 6 and pass Luhn's check (ISO/IEC 7812-1)."""
    stripped = text.strip(" -")
    if not _CARD_LIKE.fullmatch(stripped):
        return False
    total = 0
    for place, digit in enumerate(reversed(stripped.replace(" ", "").replace("-", ""))):
        doubled = int(digit) * (2 if place % 2 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0
