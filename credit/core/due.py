"""Compare an application with the requirements of its offer, and list the missing and invalid items."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from django.conf import settings

from config.core.json_text import day_of, escaped
from credit.core import profile
from credit.core.applicant_schema import DUE, is_required, title_of_member, value_at
from credit.core.deadlines import today_of
from credit.core.figures import Figures, outside

REQUIRED = "Is required."
_FIGURES = {"amount_cents": "Amount", "term_months": "Number of months"}
MIN_AGE_YEARS = 18  # this age applies if the offer has no minimum age and the date of birth is known


class Coming(NamedTuple):
    """The minimum age that an applicant has not reached yet, and the day on which the applicant reaches this age."""

    years: int
    day: date


@dataclass(frozen=True, slots=True)
class Due:
    """A missing or invalid item of an application. `type` is a JSON type or `document`."""

    pointer: str
    title: str
    type: str
    why: str
    # `coming` is set if the applicant is too young.
    coming: Coming | None = None


OFFER_ENDED = Due("/offer_id", "Offer", "integer", "The offer has ended. Apply to another offer.")


@dataclass(frozen=True, slots=True)
class RequiredDocument:
    """A document that an offer requires, and its entry on the application's checklist, if any."""

    name: str
    document_id: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True)
class OfferRequirements:
    schema: Mapping[str, Any] | None = None
    documents: Sequence[str] = ()
    applicant: Sequence[str] = ()
    min_age: int = MIN_AGE_YEARS
    has_ended: bool = False
    # `limits` is the offer's terms, if they limit the amount and the term.
    limits: Mapping[str, Any] | None = None

    @classmethod
    def by(cls, terms: Mapping[str, Any] | None, *, has_ended: bool = False) -> "OfferRequirements":
        """Return the requirements of an offer's terms.

        Terms that were pinned before offers had requirements require nothing.
        """
        offered = terms or {}
        min_age = offered.get("min_age")
        birth = () if min_age is None else ("date_of_birth",)
        return cls(
            offered.get("application_schema"),
            tuple(offered.get("required_documents") or ()),
            tuple(dict.fromkeys((*(offered.get("applicant_requires") or ()), *birth))),
            MIN_AGE_YEARS if min_age is None else min_age,
            has_ended,
            terms if settings.REQUIRE_LISTED_OFFERS else None,
        )

    @property
    def members(self) -> Mapping[str, Any]:
        return {} if self.schema is None else self.schema["properties"]

    def due(self, *, data: Any, persons: Iterable[Mapping[str, Any]] | None, uploaded: Iterable[str]) -> list[Due]:
        """Return the missing or invalid data, then applicant fields, then documents, each in the order of the offer."""
        names = set(uploaded)
        missing = [name for name in self.documents if name not in names]
        documents = [Due(f"/documents/{escaped(name)}", name, "document", "Upload a file.") for name in missing]
        ended = [OFFER_ENDED] if self.has_ended else []
        return [*ended, *self._figures(data), *self._data(data), *self._applicants(persons), *documents]

    def _figures(self, data: Any) -> Iterator[Due]:
        """Yield the amount and the term if they are outside the offer's limits. The offer's schema can be stricter."""
        if self.limits is None:
            return
        figures, values = Figures(data), data if isinstance(data, dict) else {}
        named = [name for name in _FIGURES if name in values and name not in self.members]
        faults = {name: "Must be a whole number above zero." for name in named if not getattr(figures, name)}
        for name, _, why in outside(self.limits, figures.amount_cents, figures.term_months):
            faults.setdefault(name, why)
        for name, why in faults.items():
            yield Due(f"/application_data/{name}", _FIGURES[name], "integer", why)

    def _data(self, data: Any) -> Iterator[Due]:
        if self.schema is None:
            return
        if data is not None and not isinstance(data, dict):
            yield Due("/application_data", "Data", "object", "Must be an object.")
            return
        values, required = data or {}, set(self.schema.get("required", ()))
        for name, member in self.members.items():
            why = profile.fault(member, values[name]) if name in values else REQUIRED if name in required else None
            if why is not None:
                yield Due(f"/application_data/{name}", profile.title_of(name, member), member["type"], why)

    def _applicants(self, persons: Iterable[Mapping[str, Any]] | None) -> Iterator[Due]:
        required = dict.fromkeys((*DUE, *self.applicant)) if self.applicant else ()
        # Without applicants, every required field is missing.
        for number, person in enumerate([{"address": {}}] if persons is None else persons):
            if coming := self._too_young(person):
                why = (
                    f"Must be at least {coming.years} years old. "
                    f"The applicant reaches this age on {coming.day.isoformat()}."
                )
                title = title_of_member("date_of_birth")
                yield Due(f"/applicants/{number}/date_of_birth", title, "string", why, coming)
            for path in required:
                if path != "address" and value_at(person, path) is None and is_required(person, path):
                    pointer = f"/applicants/{number}/{path.replace('.', '/')}"
                    yield Due(pointer, title_of_member(path), "string", REQUIRED)

    def _too_young(self, person: Mapping[str, Any]) -> Coming | None:
        born = day_of(person.get("date_of_birth"))
        if born is None:
            return None
        try:
            day = born.replace(year=born.year + self.min_age)
        except ValueError:
            # If the year has no February 29, the birthday is March 1.
            day = date(born.year + self.min_age, 3, 1)
        return Coming(self.min_age, day) if day > today_of(person) else None
