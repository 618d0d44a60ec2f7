"""The agreement as a single document, for payout and servicing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core import signing
from django.db.models import QuerySet
from django.utils import translation
from django.utils.translation import gettext

from config.core.errors import NotFound
from config.core.ids import get_by_uuid
from config.core.json_text import day_of
from config.mail.outbox import queue_mail
from credit.applications.lenders import lender_in_words, lender_of
from credit.applications.mails import facts_of
from credit.core.applicant_words import address_lines
from credit.core.applicants import JOINT_CREDIT, other_borrowers
from credit.core.eu_credit import follows_directive
from credit.core.figures import money
from credit.core.loan_words import COST, LOAN, rows_of, with_costs_of_line
from credit.core.machine import APPROVED
from credit.core.quotes import Instalment
from credit.models import Acceptance, Application, DecisionAnchor, LoanTerms, Provider
from credit.terms.loans import schedule_of
from credit.terms.members import is_complete


@dataclass(frozen=True)
class Decided:
    """The actor and the time of the approval. `proof` is the signed and anchored record of the decision, or None."""

    decided_by: str
    decided_at: datetime
    proof: DecisionAnchor | None


@dataclass(frozen=True)
class Agreement:
    """An agreement. `borrower` accepted the loan. `disclosure` has the four figures of 12 CFR 1026.18."""

    application_id: str
    offer_id: int
    offer_version: int | None
    offer_terms_sha256: str
    lender: Provider
    borrower: Application
    terms: Any
    terms_sha256: str
    starts_on: str
    schedule: list[Instalment] | None
    schedule_sha256: str | None
    disclosure: LoanTerms
    decision: Decided
    acceptance: Acceptance

    @property
    def members(self) -> Any:
        """Return the accepted items of the agreement, or None for an agreement of version 1.0 outside the EU."""
        return self.acceptance.members

    @property
    def includes_score(self) -> bool:
        """Return whether the decision's record contains a score."""
        return self.decision.proof is not None and self.decision.proof.includes_score


def agreement_of(application: Application) -> Agreement:
    """Return the agreement. Raises NotFound before the acceptance, and for an approval without a loan."""
    if application.accepted_at is None:
        raise NotFound("The terms were not accepted.")
    terms = application.loan_terms
    if terms is None:
        raise NotFound("The accepted approval has no loan.")
    decision = application.history.select_related("anchor__application").filter(status=APPROVED).latest("position")
    return Agreement(
        application_id=str(application.pk),
        offer_id=application.offer_id,
        offer_version=application.offer_version,
        offer_terms_sha256=application.terms_sha256,
        lender=lender_of(application),
        borrower=application,
        terms=terms.to_dict(),
        terms_sha256=terms.terms_sha256,
        starts_on=terms.as_of.isoformat(),
        schedule=schedule_of(terms) or None,
        schedule_sha256=terms.schedule_sha256 or None,
        disclosure=terms,
        decision=Decided(
            application.reviewed_by or decision.changed_by, decision.changed_at, getattr(decision, "anchor", None)
        ),
        acceptance=application.acceptances.select_related("anchor__application").latest("id"),
    )


def in_words(agreement: Any, offer: Mapping[str, Any] | None, *, members: Any = None) -> dict[str, Any]:
    """Return the context of the printed page, with the figures as text.

    `agreement` is an `Agreement`. Before the acceptance, `agreement` is the `Acceptable` terms. Both classes have
    `terms` and `schedule`. `offer` contains the pinned terms of the offer. `members` contains the items of
    `members_of`.
    """
    starts_on = agreement.starts_on if isinstance(agreement, Agreement) else agreement.as_of
    terms = with_costs_of_line(agreement.terms, offer, start=starts_on)
    currency = terms.get("currency")
    if currency:
        meant = (
            " ".join(
                filter(
                    None, (gettext("The total cost of the credit as a yearly percentage."), terms.get("assumptions"))
                )
            ),
            gettext("Interest and all other costs of the credit."),
            gettext("The sums that are made available to you."),
            gettext("The total amount of credit and its total cost."),
        )
    else:
        # The words of the model form H-2 of Regulation Z.
        meant = (
            gettext("The cost of your credit as a yearly rate."),
            gettext("The dollar amount the credit will cost you."),
            gettext("The amount of credit provided to you or on your behalf."),
            gettext("The amount you will have paid after you have made all payments as scheduled."),
        )
    # A line of credit lacks some of the figures.
    disclosed = [
        (*row, words)
        for name, words in zip(COST[:4], meant, strict=True)
        for row in rows_of(terms, (name,), start=starts_on)
    ]
    schedule = [
        (
            row.number,
            row.due_on,
            *(money(cents, currency) for cents in (row.payment_cents, row.interest_cents, row.principal_cents)),
        )
        for row in agreement.schedule or ()
    ]
    is_eu, names = follows_directive(offer), {member["name"]: member for member in members or ()}
    return {
        "loan": rows_of(terms, LOAN + COST[4:], start=starts_on),
        "disclosed": disclosed,
        "schedule": schedule,
        "day": day_of(starts_on),
        "is_line": terms.get("term_months") is None,
        "members": [member for member in members or () if member["name"] != JOINT_CREDIT] if is_eu else None,
        "joint": names.get(JOINT_CREDIT),
        # Only the page of an agreement under other law has separate sections for these items.
        "items": {} if is_eu else names,
        "is_incomplete": members is not None and not is_complete(members),
    }


def parties_of(lender: Provider, borrower: Application) -> dict[str, Any]:
    """Return the parties in words: the lender's name, and the name and address lines of each borrower.

    If the application has no applicants, the borrower is the full name of the account. Without a full name, the list of
    borrowers is empty.
    """
    borrowers = []
    for person in borrower.applicants or ():
        address = person.get("address")
        borrowers.append("\n".join((person["legal_name"], *(address_lines(address) if address else ()))))
    if not borrowers and (name := borrower.consumer.get_full_name()):
        borrowers = [name]
    return {"lender_name": lender_in_words(lender), "borrowers": borrowers}


LINK_LIVES = timedelta(days=90)
_signer = signing.TimestampSigner(salt="credit.agreement")


def mail_links(application: Application, *, now: datetime) -> None:
    """Mail a link to the agreement to each further borrower. The first borrower has the account."""
    link = f"{settings.APP_URL}/my/agreement/{_signer.sign(str(application.pk))}"
    for email, language in other_borrowers(application.applicants):
        with translation.override(language):
            about = facts_of(application)
        queue_mail(email, "agreement", {"link": link, **about}, language=language, now=now)


def agreement_of_link(token: str) -> Agreement:
    """Return the agreement of a link that `mail_links` mailed. Raises NotFound for an altered or expired link."""
    return agreement_of(record_of_link(_signer, token, Application.objects.all()))


def record_of_link(signer: signing.TimestampSigner, token: str, rows: QuerySet[Any]) -> Any:
    """Return the record whose ID a link contains. Raises NotFound for an altered or expired link."""
    try:
        return get_by_uuid(rows, signer.unsign(token, max_age=LINK_LIVES), NotFound)
    except signing.BadSignature as error:
        raise NotFound from error
