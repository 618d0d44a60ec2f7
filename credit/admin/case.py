"""What the page of an application tells at a glance: the figures, the offer's limits, and who the person is."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import CharField, Count, Exists, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Cast
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode

from config.backoffice.html import NOTHING, chip, link, moment, record_link, words
from config.backoffice.people import lines_about
from config.backoffice.personal import MASK
from credit.figures import Figures, money
from credit.models import Application, Offer, Provider
from credit.offer_serializers import TERM_MAX_MONTHS
from credit.quotes import AMOUNT_MAX_CENTS, monthly_payment_cents
from identity.bank.models import BankAccount, BankTransaction
from identity.kyc.models import KycVerification

BOOKINGS_DAYS = 90


def _one_number(rows: QuerySet[Any], aggregate: Any) -> Subquery:
    """Return a figure over the rows of one person, as a part of another statement."""
    return Subquery(rows.order_by().values("user").annotate(figure=aggregate).values("figure"))


def with_case(applications: QuerySet[Application]) -> QuerySet[Application]:
    """Add what the page says of the offer and the person: one statement in place of ten."""
    theirs = {"user": OuterRef("consumer")}
    check = KycVerification.objects.filter(**theirs).order_by("-id")
    since = timezone.now().date() - timedelta(days=BOOKINGS_DAYS)
    bookings = BankTransaction.objects.filter(**theirs, date__gte=since)
    accounts = BankAccount.objects.filter(**theirs)
    others = Application.objects.filter(consumer=OuterRef("consumer")).exclude(pk=OuterRef("pk")).order_by()
    return applications.select_related("consumer", "data_changed_by").annotate(
        offer_name=Subquery(Offer.objects.filter(pk=OuterRef("offer_id")).values("name")),
        has_provider=Exists(Provider.objects.filter(pk=Cast(OuterRef("provider_id"), CharField()))),
        others=Subquery(others.values("consumer").annotate(figure=Count("*")).values("figure")),
        identity_status=Subquery(check.values("status")[:1]),
        identity_id=Subquery(check.values("pk")[:1]),
        identity_at=Subquery(check.values("completed_at")[:1]),
        accounts=_one_number(accounts, Count("*")),
        balance_cents=_one_number(accounts, Sum("current_cents")),
        paid_in_cents=_one_number(bookings, Sum("amount_cents", filter=Q(amount_cents__lt=0))),
        paid_out_cents=_one_number(bookings, Sum("amount_cents", filter=Q(amount_cents__gt=0))),
    )


def numbers_of(application: Any) -> list[dict[str, Any]]:
    """Return the rows of the figures: name, value, and what is wrong with it ("" for nothing)."""
    if getattr(application, "is_masked", False):
        return []
    figures = Figures(application.application_data)
    outside = figures.outside(application.offer_snapshot)
    term, income, debt = figures.term_months, figures.monthly_income_cents, figures.monthly_debt_cents
    share, instalment = figures.percent_of_income(debt), instalment_of(figures, application.offer_snapshot)
    burden = figures.percent_of_income(instalment)
    shown = [
        ("Amount", _money(figures.amount_cents), outside.get("amount_cents", "")),
        ("Term", "" if term is None else f"{term} months", outside.get("term_months", "")),
        ("Income a month", _money(income), ""),
        ("Debts a month", _money(debt), ""),
        ("Debt to income", f"{share} %" if share is not None else "", ""),
        ("Instalment", _money(instalment) and f"{_money(instalment)} at the offer's lowest rate", ""),
        ("Instalment to income", f"{burden} %" if burden is not None else "", ""),
    ]
    return [{"name": name, "value": value, "wrong": wrong} for name, value, wrong in shown if value]


def instalment_of(figures: Figures, terms: Mapping[str, Any] | None) -> int | None:
    """Return what the loan would cost a month at the pinned offer's lowest rate, None where that cannot be said."""
    rate, amount, term = (terms or {}).get("apr_min_percent"), figures.amount_cents or 0, figures.term_months or 0
    if rate is None or not 1 <= amount <= AMOUNT_MAX_CENTS or not 1 <= term <= TERM_MAX_MONTHS:
        return None
    return monthly_payment_cents(amount, rate, term)


def _money(cents: int | None) -> str:
    return "" if cents is None else money(cents)


def person_of(application: Any, *, viewer: Any) -> list[tuple[str, Any]]:
    """Return what the platform knows of the person, by name; figures of the bank are hidden where data is masked."""
    others = reverse("admin:credit_application_changelist")
    query = urlencode({"q": f"user:{application.consumer_id}"})
    known = [
        ("Person", record_link("identity_user", application.consumer_id, application.consumer.get_username())),
        ("Identity", _identity_of(application)),
        ("Other applications", link(f"{others}?{query}", application.others) if application.others else "none"),
    ]
    known += lines_about(application.consumer_id, viewer=viewer, beside=True)
    if not application.accounts:
        return [*known, ("Bank", "no account linked and approved")]
    figures = (application.balance_cents, -(application.paid_in_cents or 0), application.paid_out_cents or 0)
    balance, paid_in, paid_out = (_hidden(application, cents) for cents in figures)
    known.append(("Bank accounts", f"{application.accounts}, together {balance}"))
    return [*known, (f"In and out, {BOOKINGS_DAYS} days", f"{paid_in} in, {paid_out} out")]


def _hidden(application: Any, cents: int | None) -> str:
    return MASK if getattr(application, "is_masked", False) else _money(cents) or NOTHING


def _identity_of(application: Any) -> Any:
    if application.identity_status is None:
        return "never checked"
    name = record_link("identity_kycverification", application.identity_id, words(application.identity_status))
    when = moment(application.identity_at) if application.identity_at else ""
    return format_html("{} {} {}", chip(application.identity_status), name, when)
