"""The items of a credit agreement: texts, figures, or "does not apply".

Under Directive (EU) 2023/2225, they are the items of Art. 21(1). Under other law, they are the lender with its contact
data, the type of credit, and the lender's terms. The lender's texts come from the offer (`texts`, `terms_text`), in the
borrower's language if the offer has the translation. Titles and figures are in the borrower's language.
"""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import Any

from django.utils import translation
from django.utils.translation import gettext, gettext_noop

from config.core.currencies import amount_in_words, number_in_words
from credit.applications.lenders import lender_in_words
from credit.applications.withdrawal_right import interest_a_day
from credit.core.applicants import JOINT_ACCEPTANCE, JOINT_CREDIT, language_of
from credit.core.early_repayment import early_repayment
from credit.core.eu_credit import applies, follows_directive
from credit.core.figures import date_in_words
from credit.core.jurisdictions import Conventions
from credit.core.lines import costs_of_line
from credit.core.loan_words import assumptions_in_words, duration_in_words, payments_in_words
from credit.core.quotes import TENTH, Instalment, shown_apr
from credit.core.translations import in_language
from credit.models import Application, LoanTerms, Provider
from credit.terms.loans import schedule_of

# This maps the name of each item to its title, in the order of Article 21(1).
TITLES = {
    "credit_type": gettext_noop("Type of credit"),
    "parties": gettext_noop("Lender, and intermediary"),
    "total_credit": gettext_noop("Total amount of credit"),
    "drawdown": gettext_noop("Conditions of the drawdown"),
    "duration": gettext_noop("Duration"),
    "goods": gettext_noop("Goods or services, and their cash price"),
    "rate": gettext_noop("Borrowing rate"),
    "apr": gettext_noop("Annual percentage rate, and total amount payable"),
    "payments": gettext_noop("Payments"),
    "amortisation": gettext_noop("Amortisation table"),
    "interest_and_charges": gettext_noop("Interest and charges without repayment of capital"),
    "charges": gettext_noop("Other charges"),
    "late_payment": gettext_noop("Late payments: rate and charges"),
    "default": gettext_noop("Warning: missing or late payments"),
    "notary": gettext_noop("Notarial fees"),
    "sureties": gettext_noop("Sureties and insurance"),
    "withdrawal": gettext_noop("Right of withdrawal"),
    "linked_credit": gettext_noop("Rights of linked credit"),
    "early_repayment": gettext_noop("Early repayment"),
    "termination": gettext_noop("Termination"),
    "redress": gettext_noop("Complaints and redress out of court"),
    "other_terms": gettext_noop("Other contractual terms"),
    "supervisor": gettext_noop("Supervisory authority"),
    "debt_advice": gettext_noop("Debt advice"),
}
TITLES_OF_OTHER_LAW = {
    "parties": gettext_noop("Lender"),
    "credit_type": gettext_noop("Type of credit"),
    "other_terms": gettext_noop("Terms of the lender"),
}
# Article 21 requires these items only if they apply.
_CONDITIONAL = frozenset({"goods", "interest_and_charges", "charges", "notary", "linked_credit", "other_terms"})


def members_of(application: Application, terms: LoanTerms, lender: Provider) -> list[dict[str, Any]]:
    """Return the items of the agreement in the first borrower's language.

    Each item has a `name`, a `title`, and a `text`. The text is None if it is missing.
    """
    is_eu = follows_directive(application.offer_snapshot)
    with translation.override(language_of(application.applicants)):
        offer = in_language(application.offer_snapshot or {})
        texts = _texts_of(application, offer, terms, lender) if is_eu else _texts_of_other_law(offer, terms, lender)
        members = []
        for name, title in (TITLES if is_eu else TITLES_OF_OTHER_LAW).items():
            text = texts.get(name) or (gettext("Does not apply.") if name in _CONDITIONAL else None)
            members.append({"name": name, "title": gettext(title), "text": text})
    return members


def joint_member(application: Application) -> dict[str, Any]:
    """Return the item with the declaration of two applicants who accept joint credit."""
    with translation.override(language_of(application.applicants)):
        return {"name": JOINT_CREDIT, "title": gettext("Joint credit"), "text": gettext(JOINT_ACCEPTANCE)}


def is_complete(members: Sequence[Mapping[str, Any]] | None) -> bool:
    return members is not None and all(member["text"] for member in members)


def _texts_of_other_law(offer: Mapping[str, Any], terms: LoanTerms, lender: Provider) -> dict[str, str]:
    contact = filter(None, (lender_in_words(lender), lender.address, lender.phone, lender.email))
    return {
        "parties": "\n".join(contact),
        "credit_type": _credit_type(terms),
        "other_terms": offer.get("terms_text") or gettext("The lender has set no other terms."),
    }


def _credit_type(terms: LoanTerms) -> str:
    return gettext("Line of credit") if terms.term_months is None else gettext("Loan")


def _texts_of(application: Application, offer: Mapping[str, Any], terms: LoanTerms, lender: Provider) -> dict[str, str]:
    offer_texts: Mapping[str, str] = offer.get("texts") or {}
    words = {name: text if applies(text) else gettext("Does not apply.") for name, text in offer_texts.items()}
    conventions = Conventions.of(offer)
    show = partial(amount_in_words, currency=conventions.currency)
    is_line, schedule = terms.term_months is None, schedule_of(terms)

    def join(*parts: str | None) -> str:
        return "\n".join(part for part in parts if part)

    kept_back = terms.fee_cents if conventions.is_fee_kept_back else 0
    texts = {
        "credit_type": words.get("credit_type") or _credit_type(terms),
        "parties": _contact(lender, words.get("intermediary")),
        "total_credit": show(terms.amount_cents - kept_back),
        "drawdown": words.get("drawdown"),
        "duration": duration_in_words(terms.term_months, schedule, start=terms.as_of),
        "goods": join(words.get("goods"), words.get("cash_price")),
        "rate": join(
            gettext("%s a year") % _percent(terms.rate_percent),
            *(words.get(name) for name in ("rate_index", "rate_periods", "rate_changes")),
        ),
        "apr": _apr(terms, offer, kept_back, show),
        "payments": join(_payments(schedule, conventions.currency), words.get("allocation")),
        "amortisation": words.get("amortisation") or _amortisation(is_line=is_line),
        "interest_and_charges": words.get("interest_and_charges"),
        "charges": join(
            gettext("Fee: %s") % show(terms.fee_cents) if terms.fee_cents else None,
            *(words.get(name) for name in ("accounts", "means_of_payment", "other_charges", "charge_changes")),
        ),
        "late_payment": words.get("late_payment"),
        "default": words.get("default")
        and join(gettext("Missing payments can have severe consequences for you."), words["default"]),
        "notary": words.get("notary"),
        "sureties": words.get("sureties") and join(words["sureties"], words.get("insurance")),
        "withdrawal": _withdrawal(application, terms, show),
        "linked_credit": words.get("linked_credit"),
        "early_repayment": words.get("early_repayment") and join(_early(terms, show), words["early_repayment"]),
        "termination": words.get("termination") or (None if is_line else gettext("Does not apply.")),
        "redress": _redress(lender, words.get("ombudsman")),
        "other_terms": words.get("other_terms"),
        "supervisor": lender.supervisor and join(lender.supervisor["name"], lender.supervisor["address"]),
        "debt_advice": lender.debt_advice,
    }
    return {name: str(text) for name, text in texts.items() if text}


def _contact(lender: Provider, intermediary: str | None) -> str | None:
    parts = [lender.name, lender.address, lender.phone, lender.email]
    if not all(parts):
        return None
    return "\n".join([*map(str, parts), gettext("Intermediary: %s") % (intermediary or gettext("Does not apply."))])


def _redress(lender: Provider, words: str | None) -> str | None:
    body = lender.redress
    return "\n".join([body["name"], body["url"], words]) if body and words else None


def _percent(number: Decimal) -> str:
    """Format a percentage as in the information form of `precontract`. Stored items keep this format."""
    return f"{number_in_words(number)} %"


def _apr(terms: LoanTerms, offer: Mapping[str, Any], kept_back: int, show: Any) -> str:
    words = gettext("%(apr)s; in all you pay %(total)s. Assumption: both parties fulfill the agreement as agreed.")
    if terms.apr_percent is None:
        costs = costs_of_line(terms.to_dict(), offer, start=terms.as_of)
        rate, total = costs["apr_percent"], costs["total_payable_cents"]
        first = words % {"apr": _percent(rate.quantize(TENTH, ROUND_HALF_UP)), "total": show(total)}
        return f"{first}\n{assumptions_in_words(terms.to_dict(), offer)}"
    total = (terms.total_of_payments_cents or 0) + terms.fee_cents - kept_back
    return words % {
        "apr": _percent(shown_apr(terms.to_dict(), start=terms.as_of)),
        "total": show(total),
    }


def _payments(schedule: Sequence[Instalment], currency: str) -> str:
    return payments_in_words(schedule, currency) if schedule else gettext("As you draw the credit down and repay it.")


def _amortisation(*, is_line: bool) -> str:
    if is_line:
        return gettext("Does not apply.")
    return gettext("You can request an amortisation table at any time during the agreement, free of charge.")


def _withdrawal(application: Application, terms: LoanTerms, show: Any) -> str:
    words = gettext(
        "You can withdraw from the agreement within 14 calendar days without giving a reason. The period begins on the "
        "day after the conclusion of the agreement, or after the day on which you have all terms and information, if "
        "that is later. It is enough that you send the declaration in time, on your page with us or to the lender. You "
        "then pay back the capital and the interest until then, within 30 calendar days after you sent the declaration."
    )
    daily = interest_a_day(application, terms)
    if daily is None:
        return words
    figures = {"interest": show(daily), "amount": show(terms.amount_cents)}
    return f"{words} {gettext('The interest is %(interest)s a day, on %(amount)s.') % figures}"


def _early(terms: LoanTerms, show: Any) -> str:
    words = gettext("You can repay the credit early at any time, fully or partially. This reduces the total cost by "
    "the interest and the costs for the remaining time.")  # fmt: skip
    example = early_repayment(schedule_of(terms), start=terms.as_of, fee=terms.fee_cents)
    if example is None:
        return words
    figures = {
        "day": date_in_words(example.on),
        "capital": show(example.capital),
        "fee": show(example.fee_reduction),
        "compensation": show(example.compensation_max),
    }
    return "{} {}".format(
        words,
        gettext(
            "Example: if you repay on %(day)s, you owe %(capital)s of capital. The fee is reduced by %(fee)s, in "
            "proportion to the remaining time. A compensation is at most %(compensation)s."
        )
        % figures,
    )
