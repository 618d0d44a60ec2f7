"""Build the summary of an application's page: figures, the offer's limits, and data about the applicant."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from django.db.models import CharField, Count, Exists, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import Cast
from django.urls import reverse
from django.utils.html import format_html

from config.backoffice.consoles import console_of, narrowed
from config.backoffice.html import NOTHING, chip, fields_in_words, link, moment, record_link, spelled, words
from config.backoffice.people import lines_about
from config.backoffice.personal import MASK
from config.core.currencies import percent_in_words
from config.core.encryption import UnreadableSecret
from credit.console.facts import facts_shown
from credit.console.names import legal_names
from credit.console.score_panel import score_panel
from credit.core import profile
from credit.core.applicant_schema import PATHS, title_of_member, value_at
from credit.core.applicant_words import applicant_value
from credit.core.applicants import Person
from credit.core.apr import TERM_MAX_MONTHS
from credit.core.facts import SHAREABLE
from credit.core.figures import Figures, money, outside
from credit.core.machine import MACHINE
from credit.core.quotes import AMOUNT_MAX_CENTS, monthly_payment_cents
from credit.models import Application, Correction, Offer, Provider
from credit.requirements.services import requirements_of
from credit.scoring.known_facts import bank_figures
from identity.bank.models import BankAccount, BankTransaction, sum_if_known
from identity.kyc.models import KycVerification

_UNKNOWN = "not known"
_NOT_SHARED = "not shared with you"


def _one_number(rows: QuerySet[Any], aggregate: Any, *, of: str = "user") -> Subquery:
    return Subquery(rows.order_by().values(of).annotate(figure=aggregate).values("figure"))


def with_case(applications: QuerySet[Application], viewer: Any) -> QuerySet[Application]:
    """Annotate applications with the data about the offer and the applicant that the page displays.

    Counts of other applications include only applications that `viewer` can see.
    """
    of_applicant = {"user": OuterRef("consumer")}
    check = KycVerification.objects.filter(**of_applicant).order_by("-id")
    accounts = BankAccount.objects.filter(**of_applicant)
    linked = accounts.reported_by_provider()
    others = Application.objects.filter(consumer=OuterRef("consumer")).exclude(pk=OuterRef("pk")).order_by()
    others = narrowed(others, viewer)
    return applications.select_related("consumer", "data_changed_by").annotate(
        offer_name=Subquery(Offer.objects.filter(pk=OuterRef("offer_id")).values("name")),
        lender_name=Subquery(Provider.objects.filter(pk=Cast(OuterRef("provider_id"), CharField())).values("name")),
        has_open_correction=Exists(Correction.objects.filter(application=OuterRef("pk"), closed_at__isnull=True)),
        identity_status=Subquery(check.values("status")[:1]),
        identity_id=Subquery(check.values("pk")[:1]),
        identity_at=Subquery(check.values("completed_at")[:1]),
        identity_name_match=Subquery(check.values("name_match")[:1]),
        owned=_one_number(linked.owned(), Count("*")),
        owned_cents=_one_number(linked.owned(), sum_if_known("current_cents")),
        owned_currency=_one_number(linked.owned(), Min("currency")),
        owed=_one_number(linked.owed(), Count("*")),
        owed_cents=_one_number(linked.owed(), sum_if_known("current_cents")),
        owed_currency=_one_number(linked.owed(), Min("currency")),
        claimed_accounts=_one_number(accounts.claimed(), Count("*")),
        claimed_bookings=_one_number(BankTransaction.objects.claimed().filter(**of_applicant), Count("*")),
        **{
            _others(status): _one_number(others.filter(status=status), Count("*"), of="consumer")
            for status in MACHINE.statuses
        },
    )


def _others(status: str) -> str:
    return f"others_{status}"


def numbers_of(application: Any) -> list[dict[str, Any]]:
    """Return a row for each figure: its name, its value, and the violated limit of the offer ("" for none)."""
    if getattr(application, "is_masked", False):
        return []
    figures = Figures(application.application_data)
    terms, currency = application.offer_snapshot or {}, application.shown_currency
    broken = {name: text for name, _, text in outside(terms, figures.amount_cents, figures.term_months)}
    term, income, debt = figures.term_months, figures.monthly_income_cents, figures.monthly_debt_cents
    share, instalment = figures.percent_of_income(debt), instalment_of(figures, terms)
    burden = figures.percent_of_income(instalment)
    instalment_text = money(instalment, currency)
    shown = [
        ("Amount", money(figures.amount_cents, currency), broken.get("amount_cents", "")),
        ("Number of months", "" if term is None else str(term), broken.get("term_months", "")),
        ("Monthly income", money(income, currency), ""),
        ("Monthly debt payments", money(debt, currency), ""),
        ("Debt to income", percent_in_words(share) if share is not None else "", ""),
        ("Installment", instalment_text and f"{instalment_text} at the offer's lowest interest rate", ""),
        ("Installment to income", percent_in_words(burden) if burden is not None else "", ""),
    ]
    return [{"name": name, "value": value, "wrong": wrong} for name, value, wrong in shown if value]


def summary_of(application: Any, *, viewer: Any) -> list[dict[str, Any]]:
    """Return the summary rows of a case: names, account, figures, checked facts, and the score's proposal."""
    rows = [
        {"name": "Applicant", "value": legal_names(application) or _UNKNOWN},
        {"name": "Account", "value": application.consumer.get_username()},
        *numbers_of(application),
        *_checked_of(application),
    ]
    score = score_panel(application, revisions=(), viewer=viewer)
    if score is not None and "found" in score:
        lowest, highest = score["limits"]
        rows.append({"name": "Score", "value": f"{score['found'].total} of {lowest} to {highest}"})
        rows.append({"name": "Score's proposal", "value": score["proposal"] or "None: scores are switched off"})
        rows.append({"name": "Reasons of the score", "value": "; ".join(score["reasons"]) or NOTHING})
    return rows


def _checked_of(application: Any) -> list[dict[str, Any]]:
    """Return a row for each claimed figure that the platform also has from a source, a file, or a correction."""
    rows = []
    for fact in facts_shown(application):
        checked = [f"{side} {fact[side]}" for side in ("sourced", "confirmed", "corrected") if fact[side] != NOTHING]
        if checked:
            wrong = "Differs from the claim." if fact["differs"] else ""
            value = ", ".join([f"claimed {fact['claimed']}", *checked])
            rows.append({"name": f"{fact['name']}, checked", "value": value, "wrong": wrong})
    return rows


def instalment_of(figures: Figures, terms: Mapping[str, Any]) -> int | None:
    """Return the monthly payment at the pinned offer's lowest rate, or None if the payment can't be computed."""
    rate, amount, term = terms.get("apr_min_percent"), figures.amount_cents or 0, figures.term_months or 0
    if rate is None or not 1 <= amount <= AMOUNT_MAX_CENTS or not 1 <= term <= TERM_MAX_MONTHS:
        return None
    return monthly_payment_cents(amount, rate, term)


def person_of(application: Any, *, viewer: Any) -> list[tuple[str, Any]]:
    """Return (name, value) pairs of the platform's data about the applicant.

    Bank figures are masked if the record is masked. A lender's members see bank and identity data only if the
    application shares the data.
    """
    is_staff = console_of(viewer) is None
    areas = SHAREABLE if is_staff else application.share
    page = "identity_user" if is_staff else "credit_applicant"
    others = "Other applications" if is_staff else "Other applications to you"
    identity = [
        ("Identity", _identity_of(application)),
        ("Name match", words(application.identity_name_match) if application.identity_status else _UNKNOWN),
    ]
    return [
        *_contact_of(application),
        ("Account", record_link(page, application.consumer_id, application.consumer.get_username())),
        *(identity if "identity" in areas else [("Identity", _NOT_SHARED)]),
        (others, _other_applications(application)),
        *lines_about(application.consumer_id, viewer=viewer, beside=True),
        *(_bank_of(application) if "bank" in areas else [("Bank", _NOT_SHARED)]),
    ]


def _other_applications(application: Any) -> Any:
    counted = [(status, getattr(application, _others(status)) or 0) for status in MACHINE.statuses]
    if not any(number for _, number in counted):
        return "none"
    text = ", ".join(f"{number} {words(status)}" for status, number in counted if number)
    address = reverse("admin:credit_application_changelist", query={"q": f"user:{application.consumer_id}"})
    return link(address, f"{sum(number for _, number in counted)}: {text}")


def _bank_of(application: Any) -> Iterator[tuple[str, str]]:
    """Yield rows of the bank data that the applicant approved.

    The last row has the number of accounts and transactions that the applicant only stated.
    """
    if application.owned:
        balance = _total(application, application.owned_cents, application.owned_currency)
        yield "Bank accounts", f"{application.owned}, together {balance}"
    if application.owed:
        debt = _total(application, application.owed_cents, application.owed_currency)
        yield "Owed on cards and loans", f"{application.owed}, together {debt}"
    if application.owned:
        yield "Money in and out per month", _in_and_out(application)
    elif not application.owed:
        yield "Bank", "no account linked and approved"
    claimed = (("account", application.claimed_accounts), ("transaction", application.claimed_bookings))
    if any(number for _, number in claimed):
        text = " and ".join(f"{number} {name}{'' if number == 1 else 's'}" for name, number in claimed if number)
        yield "Stated by the applicant", f"{text}: not reported by a bank, and not counted here"


def _in_and_out(application: Any) -> str:
    """Format the monthly inflow and outflow of the applicant's own accounts.

    Both amounts are computed like the facts that scorecards read.
    """
    figures = bank_figures(application.consumer_id, application.updated_at, application.currency)
    if not figures.months:
        return f"{_UNKNOWN}: {figures.gap or 'the banks reported less than one complete month'}"
    *complete, following = figures.months
    paid_in, paid_out = (
        _amount(application, cents or 0, figures.currency)
        for cents in (figures.income_monthly_cents, figures.spending_monthly_cents)
    )
    months = "1 complete month" if len(complete) == 1 else f"{len(complete)} complete months"
    return f"{paid_in} in, {paid_out} out ({months} to {following - timedelta(days=1)})"


def _total(application: Any, cents: int | None, currency: str | None) -> str:
    return _UNKNOWN if cents is None else _amount(application, int(cents), currency)


def _amount(application: Any, cents: int, currency: str | None) -> str:
    """Format an amount with its currency, or return the mask if the record is masked."""
    if getattr(application, "is_masked", False):
        return MASK
    if currency is None:
        return f"{cents} (no currency)"
    return money(cents, None if currency == "USD" else currency)


def _identity_of(application: Any) -> Any:
    if application.identity_status is None:
        return "never checked"
    shown = record_link("identity_kycverification", application.identity_id, chip(application.identity_status))
    return format_html("{} {}", shown, moment(application.identity_at) if application.identity_at else "")


def stated_of(application: Any) -> list[tuple[str, Any]]:
    """Return the titles and the values of the fields of the application's data that are not figures."""
    data = application.application_data
    if not isinstance(data, dict) or getattr(application, "is_masked", False):
        return []
    currency, known = application.shown_currency, Figures(data).known
    members = requirements_of(application).members
    rest = {
        name: money(value, currency) if name.endswith("_cents") and type(value) is int else value
        for name, value in data.items()
        if name not in {*members, *known}
    }
    rows = [
        (profile.title_of(name, part), _formatted(name, part, data.get(name), currency))
        for name, part in members.items()
        if name not in known
    ]
    return [*rows, *((name, spelled(value)) for name, value in fields_in_words(rest, currency))]


def _formatted(name: str, member: Mapping[str, Any], value: Any, currency: str | None) -> Any:
    """Format a value for display. If its type differs from the schema's type, return it as text."""
    if value is None:
        return NOTHING
    if isinstance(value, str) or profile.fault({"type": member["type"]}, value) is not None:
        return spelled(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return money(int(value), currency) if name.endswith("_cents") and value == int(value) else f"{value:,}"


def _contact_of(application: Any) -> list[tuple[str, Any]]:
    """Return rows with the legal name and the contact data of each applicant, or with the mask."""
    try:
        persons = application.applicants
    except UnreadableSecret:
        return [("Legal name", "No key in FIELD_ENCRYPTION_KEYS decrypts the data.")]
    if persons is None:
        is_erased = application.applicants_sha256
        return [("Legal name", "Erased. The hash remains." if is_erased else _UNKNOWN)]
    if getattr(application, "is_masked", False):
        return [("Legal name", MASK)]
    rows: list[tuple[str, Any]] = []
    for number, person in enumerate(persons, start=1):
        (title, name), *others = _fields_of(person)
        rows += [(title if number == 1 else f"Applicant {number}", name), *others]
    return rows


def _fields_of(person: Person) -> Iterator[tuple[str, str]]:
    texts = {path: applicant_value(path, value) for path in PATHS if (value := value_at(person, path)) is not None}
    yield from ((title_of_member(path), value) for path, value in texts.items() if not path.startswith("address."))
    if address := ", ".join(value for path, value in texts.items() if path.startswith("address.")):
        yield "Address", address
