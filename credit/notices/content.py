"""Collect the content of a notice from the decision, and render the notice in the applicant's language.

A notice is a list of blocks. Each block has a template: `notices/PROFILE/BLOCK.html` or `notices/BLOCK.html`.
Templates in the operator's folder (`NOTICE_TEMPLATES`) override the built-in templates.
"""

from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext

from config.core.currencies import amount_in_words
from config.core.json_text import rfc3339
from credit.applications import withdrawal_right
from credit.applications.services import IDLE_DAYS
from credit.core import deadlines
from credit.core.agencies import agency_text
from credit.core.applicant_words import address_lines
from credit.core.applicants import FIRST, language_of
from credit.core.consumer_reports import reports_of
from credit.core.figures import date_in_words, reference_of
from credit.core.jurisdictions import EU, Conventions
from credit.core.loan_words import FIGURES, rows_of, with_costs_of_line
from credit.core.machine import APPROVED, EXPIRED, PENDING_DOCUMENTS, REJECTED
from credit.core.reasons import INCOMPLETE as INCOMPLETE_REASON
from credit.core.reasons import REASONS, reasons_of, text_of
from credit.core.rights import ALONE, DUTIES, NONE, WORSE, outcome_of, way_of
from credit.core.risk_based_pricing import blocks_for
from credit.core.translations import free_text, languages_of, with_languages
from credit.models import Notice
from credit.models.notices import ADVERSE_ACTION, APPROVAL, COUNTEROFFER, INCOMPLETE, PRICING, WITHDRAWAL_REMINDER
from identity.access.consents import LENDER_SHARING, Consent

# The allowed blocks of a notice to an applicant other than the first.
_OF_OTHERS = frozenset({"action", "database", "report", "score", "automated", "rights", "creditor"})


def _blocks(
    notice: Notice,
    *,
    is_denial: bool,
    has_terms: bool,
    reports: list[dict[str, Any]],
    way: str,
    is_worse: bool,
    has_debt_advice: bool,
) -> list[str]:
    """Return the blocks of a notice in their order. The notice of a counteroffer can be a denial (comment 9(a)(1)-6).

    A denial that is based on `reports` contains the block of 15 USC 1681m(a). A denial that can be based on bank data
    contains the block of 15 USC 1681m(b)(1). The notice for an applicant other than the first discloses only the
    reports about that applicant. The first applicant gets the notice about the application (12 CFR 1002.9(f)).

    In the European Union, a notice states the `way` of the decision and the rights only if a score was computed
    (Directive (EU) 2023/2225, Art. 18(8), (9)). In the United States, these statements are also required for an
    approval or a counteroffer on worse terms (Colorado SB 26-189). A denial contains the ECOA notice instead of these
    statements.
    """
    application: Any = notice.application
    kind, is_eu = notice.kind, notice.profile == EU
    if kind == PRICING:
        return blocks_for(application.offer_snapshot, reports)
    if kind == WITHDRAWAL_REMINDER:
        return ["withdrawal", "creditor"]
    has_source = "bank" in (application.share or ()) or _shared_bank_data(application)
    is_scored = way != NONE and kind != INCOMPLETE and (is_eu or (is_worse and not is_denial))
    blocks = (
        ("action", True),
        ("terms", has_terms and kind in {APPROVAL, COUNTEROFFER}),
        ("until", kind == COUNTEROFFER),
        ("missing", kind == INCOMPLETE),
        ("period", kind == INCOMPLETE),
        ("reasons", is_denial),
        ("database" if is_eu else "report", is_denial and bool(reports)),
        ("source", is_denial and not is_eu and has_source),
        ("score", is_denial and not is_eu and any(report["score"] is not None for report in reports)),
        ("ecoa", is_denial and not is_eu),
        ("automated", is_scored),
        ("rights", is_scored),
        ("debt_advice", kind == ADVERSE_ACTION and is_eu and has_debt_advice),
        ("creditor", True),
        ("review", not is_scored and _can_request_review(notice)),
    )
    return [name for name, is_in in blocks if is_in and (notice.is_for_account or name in _OF_OTHERS)]


def gather(notice: Notice) -> dict[str, Any] | str:
    """Return the content of a notice.

    If the notice can't be created yet, return the reason, a key of `Notice.WAITS_FOR`.
    """
    application: Any = notice.application
    offered, move = notice.counteroffer, notice.move
    provider = application.provider_owner(str(application.provider_id), application.created_at).first()
    if provider is None or not provider.name or not provider.address:
        return Notice.CREDITOR
    metadata = move.metadata if move is not None else offered.rejection_metadata  # type: ignore[union-attr]
    is_denial = notice.kind == ADVERSE_ACTION or (
        notice.kind == COUNTEROFFER and offered is not None and offered.with_denial
    )
    applicant = notice.applicant or FIRST
    language = language_of(application.applicants, number=applicant)
    with translation.override(language):
        missing = application.missing_titles() if _is_incomplete(notice) else []
    if _is_incomplete(notice) and not missing:
        return Notice.MISSING
    reports = reports_of(metadata)
    persons = _addressed(notice, list(application.applicants or ()), has_reports=bool(reports))
    if not persons and not (notice.is_for_account and application.consumer.email):
        return Notice.ADDRESS
    reports = [report for report in reports if report["applicant"] == applicant]
    reasons = [REASONS[INCOMPLETE_REASON]] if missing else _reasons(notice, metadata)
    if not notice.is_for_account:
        # The reasons may come from another applicant's report, so this notice omits the reasons.
        reasons = []
    elif is_denial and not reasons:
        return Notice.REASONS
    terms = offered.loan_terms if offered is not None else application.loan_terms
    respond_by = None
    # An incomplete application expires after the deadline.
    if notice.kind == INCOMPLETE and move is not None:
        respond_by = rfc3339(move.changed_at + timedelta(days=IDLE_DAYS[PENDING_DOCUMENTS]))
    way, is_worse = way_of(move, application.decision_score), application.approves_worse
    outcome = WORSE if move is None else outcome_of(move.status, is_worse=is_worse)
    return {
        "blocks": _blocks(
            notice,
            is_denial=is_denial,
            has_terms=terms is not None,
            reports=reports,
            way=way,
            is_worse=outcome == WORSE,
            has_debt_advice=bool(provider.debt_advice),
        ),
        "kind": notice.kind,
        "is_denial": is_denial,
        "application_id": str(application.pk),
        "submitted_at": application.submitted_at and rfc3339(application.submitted_at),
        "decided_at": rfc3339(offered.offered_at if move is None else move.changed_at),  # type: ignore[union-attr]
        "creditor": {"name": provider.name, "address": provider.address},
        "persons": [_person(person, language) for person in persons],
        "language": language,
        "agency": agency_text(provider.agency),
        "reasons": reasons if is_denial else [],
        "reports": reports if is_denial or notice.kind == PRICING else [],
        "automated": way == ALONE,
        "way": way,
        "rights": [right.text for right in DUTIES[notice.profile, way, outcome].after],
        "debt_advice": provider.debt_advice,
        "reviewed_at": _reviewed_at(notice),
        "withdrawal": _withdrawal(notice),
        "terms": None
        if terms is None or notice.kind not in {APPROVAL, COUNTEROFFER}
        else {
            "kept": terms.to_dict(),
            "as_of": terms.as_of.isoformat(),
            "product_type": (application.offer_snapshot or {}).get("product_type"),
        },
        "until": None if offered is None else rfc3339(offered.expires_at),
        "missing": missing,
        "languages": languages_of([*missing, *reasons]),
        "respond_by": respond_by,
        "zone": deadlines.zone_of(application.applicants),
        "request_review": f"{settings.APP_URL}/my",
    }


def _withdrawal(notice: Notice) -> dict[str, Any] | None:
    """Return the data of a withdrawal reminder (Directive (EU) 2023/2225, Art. 10(1)), or None for other notices."""
    if notice.kind != WITHDRAWAL_REMINDER:
        return None
    application: Any = notice.application
    right = withdrawal_right.describe(application)
    last_day = withdrawal_right.last_day_of(application, right)
    return {
        "concluded_at": rfc3339(application.accepted_at),
        "last_day": None if last_day is None else last_day.isoformat(),
        "interest_a_day_cents": right.interest_a_day_cents,
        "currency": Conventions.of(application.offer_snapshot).currency,
    }


def _reviewed_at(notice: Notice) -> str | None:
    """Return the time of the request for reconsideration that the decision closed, or None."""
    if notice.move is None:
        return None
    requests = notice.application.review_requests.filter(answered_at=notice.move.changed_at)
    request = requests.order_by("-id").first()
    return None if request is None else rfc3339(request.requested_at)


def _shared_bank_data(application: Any) -> bool:
    """Return whether the applicant shared bank data at the submission, even if the consent has ended."""
    shared = Consent.objects.filter(reference=application.pk, kind=LENDER_SHARING, scope__contains=": bank")
    return shared.exists()


def _is_incomplete(notice: Notice) -> bool:
    return notice.kind == INCOMPLETE or (notice.move is not None and notice.move.status == EXPIRED)


def _can_request_review(notice: Notice) -> bool:
    move = notice.move
    if move is None:
        # The notice is about a counteroffer.
        return True
    application: Any = notice.application
    is_worse = application.approves_worse or application.is_scored_in_eu
    return move.status == REJECTED or (move.status == APPROVED and is_worse)


def _reasons(notice: Notice, metadata: Any) -> list[str]:
    """Return the texts of the decision's principal reasons.

    If an adverse action has none, return the reasons of a score that declines the application.
    """
    reasons = reasons_of(metadata)
    score = None if reasons or notice.kind != ADVERSE_ACTION else notice.application.decision_score
    if score is not None and score.outcome == "decline":
        reasons = reasons_of({"reasons": score.reasons})
    terms = notice.application.offer_snapshot
    return [
        text_of(reason) if isinstance(reason, str) else free_text(text_of(reason), terms, metadata)
        for reason in reasons
    ]


def _addressed(notice: Notice, persons: list[Any], *, has_reports: bool) -> list[Any]:
    """Return the addressees. A notice that discloses reports is addressed only to the first applicant."""
    if notice.applicant is not None:
        return persons[notice.applicant - 1 : notice.applicant]
    return persons[:FIRST] if has_reports else persons


def _person(person: dict[str, Any], language: str) -> dict[str, Any]:
    """Return an applicant's name and address lines. The name of the country is in the language of the notice."""
    with translation.override(language):
        return {"name": person["legal_name"], "address": address_lines(person["address"])}


def render(content: dict[str, Any], profile: str) -> str:
    """Render the notice as a self-contained HTML page. The page is also the stored record."""
    with translation.override(content["language"]):
        figures = {}
        if terms := content["terms"]:
            figures = with_costs_of_line(terms["kept"], terms, start=terms["as_of"])
        blocks = [[f"notices/{profile}/{block}.html", f"notices/{block}.html"] for block in content["blocks"]]
        context = {
            **content,
            "missing": with_languages(content["missing"], content),
            "reasons": with_languages(content["reasons"], content),
            "profile": profile,
            "templates": blocks,
            "reference": reference_of(UUID(content["application_id"])),
            "submitted_on": _day_of(content["submitted_at"], content),
            "decided_on": _day_of(content["decided_at"], content),
            "reviewed_on": _day_of(content.get("reviewed_at"), content),
            "rights": [gettext(text) for text in content.get("rights", ())],
            "until_on": _deadline(content["until"], content),
            "respond_by_on": _deadline(content["respond_by"], content),
            **_withdrawal_words(content),
            "reports": [{**report, "dated_on": day_in_words(report["date"])} for report in content["reports"]],
            "figures": rows_of(figures, FIGURES, start=terms["as_of"]) if terms else [],
            "assumptions": figures.get("assumptions"),
        }
        return render_to_string("notices/notice.html", context)


def _withdrawal_words(content: dict[str, Any]) -> dict[str, str]:
    facts = content.get("withdrawal")
    if facts is None:
        return {}
    interest = facts["interest_a_day_cents"]
    return {
        "concluded_on": _deadline(facts["concluded_at"], content),
        "last_day": day_in_words(facts["last_day"]),
        "interest_a_day": "" if interest is None else amount_in_words(interest, facts["currency"]),
    }


def _deadline(value: str | None, content: dict[str, Any]) -> str:
    return "" if value is None else deadlines.in_words(datetime.fromisoformat(value), _zone_of(content))


def _day_of(value: str | None, content: dict[str, Any]) -> str:
    return "" if value is None else deadlines.day_in_words(datetime.fromisoformat(value), _zone_of(content))


def _zone_of(content: dict[str, Any]) -> str:
    zone: str = content.get("zone", "UTC")  # notices of earlier versions have no time zone
    return zone


def day_in_words(value: str | None) -> str:
    return "" if value is None else date_in_words(date.fromisoformat(value[:10]))
