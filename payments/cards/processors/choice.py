"""Which card processor `CARD_PROCESSOR` names."""

from django.conf import settings

from payments.cards.processors.base import CardProcessor
from payments.cards.processors.sandbox import SandboxProcessor
from payments.cards.processors.stripe import StripeProcessor


def card_processor(name: str = "") -> CardProcessor:
    """Return the processor with this name; the one of the settings when none is given."""
    return StripeProcessor() if (name or settings.CARD_PROCESSOR) == StripeProcessor.name else SandboxProcessor()
