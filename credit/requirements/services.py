"""List an application's missing items, and create the checklist of required documents."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from credit.core.applicant_schema import schema_of
from credit.core.card import REFER, input_of, is_claimed
from credit.core.due import Due, OfferRequirements, RequiredDocument
from credit.core.errors import RequirementsDue
from credit.core.facts import BANK, CONFIRMED, REPORT, path_of, source_of
from credit.core.machine import DRAFT, SUBMITTED
from credit.models import Application, ModelVersion, Offer
from credit.models.documents import RequestedDocument


def of_offer(offer: Offer) -> dict[str, Any]:
    requirements = OfferRequirements.by(offer.terms())
    due = requirements.due(data=None, persons=None, uploaded=())
    return _described(requirements, due, [RequiredDocument(name) for name in requirements.documents])


def _described(requirements: OfferRequirements, due: list[Due], documents: list[RequiredDocument]) -> dict[str, Any]:
    applicants = schema_of(requirements.applicant) if requirements.applicant else None
    schema = {"application_schema": requirements.schema, "applicants": applicants}
    return {"currently_due": due, "documents": documents, **schema}


def _unchanged(terms: Any) -> Any:
    return terms


def of_application(
    application: Application, *, is_own: bool, now: datetime, read: Callable[[Any], Any] = _unchanged
) -> dict[str, Any]:
    """Return the requirements of an application, as in `requirements_of`.

    If the applicant reads a draft, the offer's current documents are added to the checklist, so that the applicant can
    upload files.
    """
    requirements = requirements_of(application, read=read)
    if requirements.documents and is_own and application.status == DRAFT:
        RequestedDocument.put_on_checklist(application, requirements.documents, now=now)
    documents = _documents(application, requirements)
    return _described(requirements, application.due(requirements), documents)


def requirements_of(application: Application, *, read: Callable[[Any], Any] = _unchanged) -> OfferRequirements:
    """Return the offer's current terms for a draft, otherwise the pinned terms. `read` can translate their texts."""
    if application.status != DRAFT:
        return OfferRequirements.by(application.offer_snapshot and read(application.offer_snapshot))
    offer = Offer.objects.filter(pk=application.offer_id).first()
    if offer is None:
        return OfferRequirements.by(None)
    return OfferRequirements.by(read(offer.terms()), has_ended=not offer.is_active)


def refusal_of(application: Application, to: str) -> RequirementsDue | None:
    """Return an error for a submission with missing items. Return None for other transitions."""
    if (application.status, to) != (DRAFT, SUBMITTED):
        return None
    due = application.due(requirements_of(application))
    return RequirementsDue.of_each(due) if due else None


def _documents(application: Application, requirements: OfferRequirements) -> list[RequiredDocument]:
    if not requirements.documents:
        return []
    rows = application.requested_documents.filter(name__in=requirements.documents).values_list("name", "pk", "status")
    checklist = {name: (str(pk), status) for name, pk, status in rows}
    return [RequiredDocument(name, *checklist.get(name, (None, None))) for name in requirements.documents]


_OFFERS_NAMED = 5
# These facts contain no information about income, expenses, or obligations.
_HISTORY = (
    "account.", "applications.", "identity.", "person.", "report.as_of", "report.delinquencies_", "report.inquiries_",
    "report.oldest_account_", "report.score", "report.status",
)  # fmt: skip


def warnings_of(version: ModelVersion) -> list[str]:
    """Return warnings for the author of a scorecard before its publication."""
    return [
        *_inputs_without_requirement(version),
        *_characteristics_of_claims(version),
        *_lacking_sources(version),
        *_unhandled_reports(version),
    ]


def _unhandled_reports(version: ModelVersion) -> list[str]:
    """Return a warning if the scorecard reads reports, but no knockout refers applications without a report."""
    card, status = version.card, "report.status"
    if not any(source_of(name) == REPORT for name in card.facts):
        return []
    watched = {source.name for source in card.inputs if status in source.facts}
    if any(rule.input in watched and rule.outcome == REFER for rule in card.knockouts):
        return []
    return [
        (f"No knockout on `{status}` refers applications without a report: their points come from the bins `missing`.")
    ]


def _lacking_sources(version: ModelVersion) -> list[str]:
    """Return warnings if no input reads income, expenses, or obligations, and if no input is verified."""
    read = [name for source in version.card.inputs for name in source.facts]
    sentences = []
    if read and all(name.startswith(_HISTORY) for name in read):
        sentences.append("No input reads income, expenses, or obligations (CCD2 18(3)).")
    if not any(source_of(name) in {BANK, REPORT, CONFIRMED} for name in read):
        sentences.append(
            "No input is verified: none reads a bank, a report, or a value that a reviewer confirmed (CCD2 18(3))."
        )
    return sentences


def _inputs_without_requirement(version: ModelVersion) -> list[str]:
    """Return a warning for each input that an active offer of the model does not require.

    The warning lists these offers.

    Offers without a schema accept any data, so they cause no warning.
    """
    read = {name: path for name in sorted(version.card.facts) if is_claimed(name) and (path := path_of(name))}
    lacking: dict[str, list[str]] = {name: [] for name in read}
    offers = Offer.objects.filter(
        blockscore_model_id=version.model_id,
        provider=version.model.provider_id,
        is_active=True,
        application_schema__isnull=False,
    ).order_by("pk")
    schemas: Any = offers.values_list("pk", "application_schema")
    for pk, schema in schemas.iterator(chunk_size=50):
        for name, path in read.items():
            if len(path) > 1 or path[0] not in schema.get("required", ()):
                lacking[name].append(str(pk))
    return [_sentence(name, where) for name, where in lacking.items() if where]


def _characteristics_of_claims(version: ModelVersion) -> list[str]:
    """Return a warning for each characteristic that reads only claims of the applicant."""
    is_verified = version.definition.get("verified", False)
    effect = "it is always missing, because the card is verified" if is_verified else "nothing verifies it"
    inputs = {declared["name"]: input_of(declared) for declared in version.definition["inputs"]}
    return [
        f"Only the applicant supplies {characteristic.name}: {effect}."
        for characteristic in version.card.characteristics
        if all(map(is_claimed, inputs[characteristic.input].facts))
    ]


def _sentence(name: str, offers: list[str]) -> str:
    more = f" and {len(offers) - _OFFERS_NAMED} more" if len(offers) > _OFFERS_NAMED else ""
    named = f"{', '.join(offers[:_OFFERS_NAMED])}{more}"
    return f"Offer {named} does not require {name}, so the value can be missing."
