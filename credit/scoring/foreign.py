"""What a card that another program made does not say, and how its parts become a definition."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

from config.core.errors import ValidationFailed
from credit.reasons import OTHER, OTHER_TEXT_MAX, REASONS, Reason
from credit.scoring import facts

_DIGITS_MAX, _PLACES_MAX = 15, 10  # as definition.schema.json allows
_NUMBER = re.compile(
    r"\s{0,9}[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?\s{0,9}", re.ASCII
)
_EXACT = Context(prec=100)


@dataclass(frozen=True)
class Terms:
    """What is said beside a card: `outcomes` with their lowest totals, the `facts` and `reasons` of variables."""

    outcomes: Sequence[tuple[str, int]]
    facts: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, Reason] = field(default_factory=dict)

    def fact(self, variable: str) -> str:
        """Return the fact that a variable is: as told, of that name, or what an application says under that name."""
        if variable in self.facts:
            return self.facts[variable]
        return variable if facts.type_of(variable) else f"{facts.APPLICATION_DATA}{variable}"

    def reason(self, variable: str, said: str) -> Reason:
        """Return the reason of a variable: as told, else by the code or the words that the card says."""
        if variable in self.reasons:
            return self.reasons[variable]
        return next(
            (code for code, text in REASONS.items() if said in {code, text}),
            {"code": OTHER, "text": said[:OTHER_TEXT_MAX]},
        )

    def definition(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        """Return a definition of the parts that a card gives; whoever gets no other outcome is declined."""
        if not self.outcomes:
            raise ValidationFailed("The card names no outcomes: say from which total it approves, and refers.")
        outcomes = [{"outcome": outcome, "from": bound} for outcome, bound in self.outcomes]
        return {**parts, "outcomes": [*outcomes, {"outcome": "decline"}]}

    def check_names(self, variables: Sequence[str]) -> None:
        """Raise ValidationFailed where a fact or reason is told of a variable that the card does not have."""
        for name in (*self.facts, *self.reasons):
            if name not in variables:
                raise ValidationFailed(f"The card has no variable {name[:60]!r}; it has {', '.join(variables)[:300]}.")


def exact(text: str, here: str) -> Decimal:
    """Return a number as it is written; ValidationFailed for what is none."""
    if not _NUMBER.fullmatch(text):
        raise ValidationFailed(f"{here}: {text[:40]!r} is no number.")
    return _EXACT.create_decimal(text.strip())


def number(text: str, here: str) -> Decimal:
    """Return a number that a threshold can be; ValidationFailed for one that is larger, or more exact."""
    found = exact(text, here)
    # Looked at before it is written out: 1e999 is short only here.
    if found and found.adjusted() >= _DIGITS_MAX:
        raise ValidationFailed(f"{here}: {text[:40]!r} has more than {_DIGITS_MAX} digits before the point.")
    found = found.normalize(_EXACT) if found else Decimal(0)
    if int(found.as_tuple().exponent) < -_PLACES_MAX:
        raise ValidationFailed(f"{here}: {text[:40]!r} has more than {_PLACES_MAX} digits behind the point.")
    return found


def threshold(value: Decimal) -> int | str:
    """Return a number as a definition says it."""
    return int(value) if value == value.to_integral_value() else format(value, "f")


def best(bins: Sequence[Mapping[str, Any]]) -> int:
    """Return the most points that a value can give: the baseline where a card has none."""
    return max(int(one["points"]) for one in bins if "missing" not in one)
