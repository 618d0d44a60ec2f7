"""Pages to accept or decline the terms of a loan, to print the agreement, and to withdraw from the agreement."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, gettext, gettext_lazy

from config.api.rate_limits import consume
from config.core.errors import ApiError, ValidationFailed
from config.core.ids import get_by_uuid
from credit.api.terms.views import agreement_page
from credit.applications import withdrawal_right
from credit.applications.lenders import lender_of
from credit.core import deadlines
from credit.core.applicants import JOINT_ACCEPTANCE
from credit.core.errors import NothingToAccept, TermsChanged
from credit.core.eu_credit import follows_directive
from credit.core.figures import date_in_words, reference_of
from credit.core.loan_words import in_words, rows_of, with_costs_of_line
from credit.core.translations import in_language
from credit.models import Application, ContractWithdrawal, Notice, Offer
from credit.my import content
from credit.my.apply import rows_of as rows_of_offer
from credit.my.pages import InTheirLanguage, MyPage, actor_on, joint_intent_of, own_applications, run_action
from credit.my.words import error_message
from credit.terms import acceptance, counteroffers, withdrawals
from credit.terms.acceptance import Acceptable, form_of_link, provide
from credit.terms.agreement import agreement_of, agreement_of_link, parties_of
from credit.terms.agreement import in_words as agreement_in_words
from credit.terms.members import members_of
from credit.terms.precontract import form_of_acceptable

# The page shows these figures in this order.
_BEFORE_PAYMENTS = ("amount_cents", "rate_percent", "apr_percent", "fee_cents", "term_months", "payment_cents")
_AFTER_FIRST_PAYMENT = ("final_payment_cents", "finance_charge_cents", "amount_financed_cents")
# `_WITHDRAWN` is the text for the channels `portal` and `api`, which the borrower's own account uses.
_WITHDRAWN = gettext_lazy("You withdrew from this contract on %(declared_at)s.")
_RECORDED = {
    ContractWithdrawal.POST: gettext_lazy(
        "The lender recorded on %(received_at)s that a borrower withdrew by letter on %(declared_at)s."
    ),
    ContractWithdrawal.EMAIL: gettext_lazy(
        "The lender recorded on %(received_at)s that a borrower withdrew by email on %(declared_at)s."
    ),
    ContractWithdrawal.IN_PERSON: gettext_lazy(
        "The lender recorded on %(received_at)s that a borrower withdrew in person on %(declared_at)s."
    ),
}
_TOTAL = ("total_of_payments_cents",)


def figures_of(terms: Acceptable, costs: Mapping[str, Any], explained: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return (title, value, explanation) rows with the terms, the costs, and the first payment of a loan.

    `explained` maps the title of a cost to its explanation. Other rows have an empty explanation.
    """
    rows = rows_of(costs, _BEFORE_PAYMENTS, start=terms.as_of)
    if terms.schedule:
        rows.append((gettext("First payment"), date_in_words(terms.schedule[0].due_on)))
    rows += rows_of(costs, _AFTER_FIRST_PAYMENT + _TOTAL, start=terms.as_of)
    return [(title, value, explained.get(title, "")) for title, value in rows]


class AcceptPage(MyPage):
    """The page to accept or decline approved terms or a counteroffer. Each of the two actions has a form.

    An applicant who declines confirms this on another page.

    The forms have no text fields, so that the Enter key can't submit an answer. The acceptance requires a checkbox. Its
    text also declares that two applicants agree. Enter at the checkbox presses a hidden button, which opens the page
    again.
    """

    def get(self, request: HttpRequest, application_id: str) -> HttpResponse:
        return self._show(request, get_by_uuid(own_applications(request), application_id, Http404))

    def _show(self, request: HttpRequest, application: Application, error: str = "") -> HttpResponse:
        """Return the page. `error` is the error of the checkbox, or ""."""
        now = timezone.now()
        terms = acceptance.describe(application, now=now)
        if not terms.acceptable or Notice.undelivered_about_pricing(application).exists():
            return redirect("my_application", application.pk)
        page = _facts(application, terms, now)
        page["wrong"] = error and {"id": "agreed", "title": gettext("Your decision"), "text": error}
        if terms.as_of is not None and follows_directive(application.offer_snapshot):
            form = form_of_acceptable(application, terms, language=get_language(), now=now)
            provide(application, form, medium=form.PORTAL, is_opened=False, now=now)
            page["form"] = form
        return render(request, "credit/my/accept.html", page, status=400 if error else 200)

    def post(self, request: HttpRequest, application_id: str) -> HttpResponse:
        application = get_by_uuid(own_applications(request), application_id, Http404)
        if request.POST.get("do") == "decline" and request.POST.get("sure") != "yes":
            return self._confirm(request, application)
        if request.POST.get("do") == "accept" and request.POST.get("agreed") != "yes":
            return self._show(request, application, gettext("Select the checkbox to accept."))
        answer = {"accept": _accept, "decline": _decline}.get(request.POST.get("do", ""))
        if answer is None:
            return redirect("my_accept", application_id)
        try:
            consume("write", str(request.user.pk))
            messages.success(request, answer(request, application_id))
        except (TermsChanged, ValidationFailed) as refusal:
            messages.error(request, error_message(refusal))
            return redirect("my_accept", application_id)
        except ApiError as refusal:
            messages.error(request, error_message(refusal))
        return redirect("my_application", application_id)

    def _confirm(self, request: HttpRequest, application: Application) -> HttpResponse:
        """Return the page that confirms that the applicant declines the terms."""
        now = timezone.now()
        terms = acceptance.describe(application, now=now)
        if not terms.acceptable:
            messages.error(request, error_message(NothingToAccept()))
            return redirect("my_application", application.pk)
        page = _facts(application, terms, now)
        return render(request, "credit/my/decline.html", {**page, "title": _decline_title(page)})


def _decline_title(page: Mapping[str, Any]) -> str:
    if page["offered"]:
        return gettext("Decline the counteroffer")
    if not page["loan"]:
        return gettext("Decline these terms")
    return gettext("Decline this line of credit") if page["is_line"] else gettext("Decline this loan")


def _facts(application: Application, terms: Acceptable, now: datetime) -> dict[str, Any]:
    is_loan, figures, schedule = terms.as_of is not None, [], []
    lender, zone = lender_of(application), timezone.get_current_timezone_name()
    costs: dict[str, Any] = {}
    if terms.as_of is not None:
        costs = with_costs_of_line(terms.terms, application.offer_snapshot, start=terms.as_of)
        agreement = agreement_in_words(terms, application.offer_snapshot)
        figures = figures_of(terms, costs, {title: words for title, _value, words in agreement["disclosed"]})
        schedule = agreement["schedule"]
    return {
        "application": application,
        "reference": reference_of(application.pk),
        "lender": lender,
        **parties_of(lender, application),
        "terms": terms,
        "loan": in_words(terms.terms) if is_loan else "",
        "is_line": is_loan and terms.terms["term_months"] is None,
        "figures": figures,
        "assumptions": costs.get("assumptions"),
        "terms_text": in_language(application.offer_snapshot or {}).get("terms_text"),
        "schedule": schedule,
        "as_of": terms.as_of and date_in_words(date.fromisoformat(terms.as_of)),
        **({} if is_loan else _without_loan(application)),
        "offered": counteroffers.acceptable_of(application, now=now),
        "declares": joint_intent_of(application, JOINT_ACCEPTANCE),
        "deadline": terms.expires_at and deadlines.in_words(terms.expires_at, zone),
    }


def _without_loan(application: Application) -> dict[str, Any]:
    """Return the context for an approval without loan terms: the offer's pinned terms, and the requested loan."""
    pinned = in_language(application.offer_snapshot or {})
    offer = Offer(**{name: pinned[name] for name in Offer.TERMS if name in pinned})
    return {"offer_name": offer.name, "offer_rows": rows_of_offer(offer), "requested": content.figure_rows(application)}


def _accept(request: HttpRequest, application_id: str) -> str:
    terms_sha256, as_of = request.POST.get("terms_sha256", ""), request.POST.get("as_of")
    actor, now = actor_on(request), timezone.now()
    form = request.POST.get("precontract_sha256")
    is_joint = bool(joint_intent_of(own_applications(request).get(pk=application_id), JOINT_ACCEPTANCE))
    acceptance.accept(
        application_id, terms_sha256=terms_sha256, as_of=as_of, precontract_sha256=form, is_joint=is_joint,
        actor=actor, now=now,
    )  # fmt: skip
    return gettext("You accepted the offer.")


def _decline(request: HttpRequest, application_id: str) -> str:
    actor, now = actor_on(request), timezone.now()
    if counteroffer_id := request.POST.get("counteroffer_id"):
        counteroffers.decline(application_id, counteroffer_id, actor=actor, now=now)
        return gettext("You declined the counteroffer. The lender continues with your application.")
    acceptance.decline(application_id, terms_sha256=request.POST.get("terms_sha256"), actor=actor, now=now)
    return gettext("You declined the offer.")


class InformationPage(MyPage):
    """The European information form, to read and to print."""

    def get(self, request: HttpRequest, application_id: str) -> HttpResponse:
        application, now = get_by_uuid(own_applications(request), application_id, Http404), timezone.now()
        form = acceptance.form_to_read(application, language=get_language(), now=now)
        provide(application, form, medium=form.PORTAL, is_opened=True, now=now)
        return HttpResponse(form.html)


class LinkedInformationPage(InTheirLanguage):
    """The information form that a borrower without an account opens with a link in a mail."""

    def get(self, _request: HttpRequest, token: str) -> HttpResponse:
        return HttpResponse(form_of_link(token).html)


class LinkedAgreementPage(InTheirLanguage):
    """The agreement that a borrower without an account opens with a link in a mail."""

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        return agreement_page(request, agreement_of_link(token))


class AgreementPage(MyPage):
    """The agreement, to read and to print.

    Before the acceptance, the page shows the agreement for an acceptance today.
    """

    def get(self, request: HttpRequest, application_id: str) -> HttpResponse:
        application = get_by_uuid(own_applications(request), application_id, Http404)
        terms = acceptance.describe(application, now=timezone.now())
        if terms.acceptable and terms.as_of is not None:
            lender, loan = lender_of(application), acceptance.offered_terms(application, now=timezone.now())
            members = loan and members_of(application, loan, lender)
            page = {
                **agreement_in_words(terms, application.offer_snapshot, members=members),
                **parties_of(lender, application),
                "agreement": {"lender": lender, "borrower": application, "starts_on": terms.as_of},
                "is_proposed": True,
            }
            return render(request, "credit/agreement.html", page)
        return agreement_page(request, agreement_of(application), is_own=True)


class WithdrawalPage(MyPage):
    """The page about the right of withdrawal from an accepted agreement, and the amounts that are due afterwards."""

    def get(self, request: HttpRequest, application_id: str) -> HttpResponse:
        application = get_by_uuid(own_applications(request), application_id, Http404)
        right = withdrawal_right.describe(application)
        last_day = withdrawal_right.last_day_of(application, right)
        facts = {
            "application": application,
            "reference": reference_of(application.pk),
            "withdrawn": "" if right.declared_at is None else _withdrawn_in_words(application),
            "record_sha256": right.proof and right.proof.record_sha256,
            "last_day": last_day and date_in_words(last_day),
            "is_open": right.is_open(now=timezone.now()),
            "owed": withdrawal_right.rows_of(application, right),
            "returns_fee": bool(withdrawal_right.fee_in_words(application)),
        }
        return render(request, "credit/my/withdrawal.html", facts)

    def post(self, request: HttpRequest, application_id: str) -> HttpResponse:
        get_by_uuid(own_applications(request), application_id, Http404)
        if request.POST.get("sure") != "yes":
            return redirect("my_withdrawal", application_id)

        def declare() -> str:
            withdrawals.declare(application_id, actor=actor_on(request), now=timezone.now())
            return gettext("You withdrew from the contract. We sent a receipt to each borrower.")

        return run_action(request, "write", declare, reverse("my_withdrawal", args=[application_id]))


def _withdrawn_in_words(application: Application) -> str:
    row, zone = application.contract_withdrawal, timezone.get_current_timezone_name()
    dates = {name: deadlines.in_words(getattr(row, name), zone) for name in ("declared_at", "received_at")}
    return str(_RECORDED.get(row.channel, _WITHDRAWN)) % dates
