"""Pages to apply for credit: the list of offers, and the forms of a new application and of a draft."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, override
from django.views.decorators.http import require_safe
from django.views.generic import ListView

from config.api.rate_limits import RateLimited, consume, consume_by_address
from config.core.credentials import SAFE_METHODS
from config.core.errors import ApiError, ValidationFailed
from config.core.ids import get_by_uuid, parse_positive_int64
from credit.applications.services import IDLE_DAYS, change_application, create_application, lock_own
from credit.core import machine as states
from credit.core.applicants import Applicants, language_of
from credit.core.countries import states_in_words
from credit.core.figures import money
from credit.core.translations import active_language, document_title
from credit.models import Application, Clock, Offer, PartialApplicants, ProviderLogo
from credit.my.comparison import ComparisonForm, compare, installments_of, loan_from, rates_of
from credit.my.content import Row, offer_to_edit, offer_to_read
from credit.my.forms import ApplicationForms, availability_of
from credit.my.pages import (
    InTheirLanguage,
    MyPage,
    actor_on,
    is_as_shown,
    latest_applicants,
    localized,
    own_applications,
)
from credit.my.person_form import areas_with_data, groups_of, suggested_states
from credit.my.words import error_message
from credit.offers.catalogue import CatalogueFilter, active_offers
from credit.offers.links import LinkEnded, read_link
from credit.scoring.explanation import describe_automation
from identity.accounts.languages import store_language
from identity.accounts.typed_text import DISCARD, restored

_CHECK, _ESTIMATE, _LANGUAGE = "check", "estimate", "language:"
_LANGUAGE_FIELDS = ("first-language", "second-language")
_RANGE = " \u2013 "
_SENT_TWICE = timedelta(minutes=1)  # a younger draft with the same data comes from a double click


def _offers(request: HttpRequest) -> CatalogueFilter:
    """Return the filter of the catalog for the user, or for a visitor without a log-in.

    Scores do not exclude offers. A missing offer would reveal the score, and the user can apply for an offer again.
    """
    user_id = str(request.user.pk) if request.user.is_authenticated else None
    return CatalogueFilter(user_id=user_id, sees_scores=False)


def _with_number(offers: QuerySet[Offer]) -> QuerySet[Offer]:
    """Filter offers by lenders with an integer ID, because applications store the lender's ID as an integer."""
    return offers.filter(provider__id__regex=r"^[1-9][0-9]{0,17}$").select_related("provider")


class OffersPage(InTheirLanguage, ListView):  # type: ignore[type-arg]
    """The public page of offers. With an amount and a number of months, the page shows the costs of each offer.

    A page quotes at most `paginate_by` offers, and a request with a loan counts against a rate limit.
    """

    template_name = "credit/my/offers.html"
    paginate_by = 20
    refusal: RateLimited | None = None

    def dispatch(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        answer = super().dispatch(request, *args, **options)
        if self.refusal is not None:
            answer.status_code = self.refusal.status
            for name, value in self.refusal.headers.items():
                answer.headers[name] = value
        return answer

    def get_queryset(self) -> QuerySet[Offer]:
        return _with_number(_offers(self.request).matching())

    def get_context_data(self, **options: Any) -> dict[str, Any]:
        context = super().get_context_data(**options)
        offers = [offer_to_read(offer) for offer in context["object_list"]]
        currencies = sorted({currency for offer in offers if (currency := offer.conventions.shown_currency)})
        terms: Any = self.get_queryset().order_by().values_list("term_options_months", flat=True).distinct()
        months = {months for options in terms for months in options or ()}
        typed = ComparisonForm(self.request.GET, currency=next(iter(currencies), None), months=months)
        loan = typed.loan()
        if loan is not None and self._refuse():
            loan = None
        compared = compare(offers, loan, today=timezone.now().date())
        return context | {
            "form": typed,
            "has_currencies": bool(currencies),
            "may_sign_up": get_adapter(self.request).is_open_for_signup(self.request),
            "loan": loan,
            "refused": "" if self.refusal is None else error_message(self.refusal),
            "rows": [(each, each.with_costs(rows_of(each.offer))) for each in compared],
            "query": urlencode({name: self.request.GET.get(name, "") for name in typed.fields}) if loan else "",
        }

    def _refuse(self) -> bool:
        """Count the request against the rate limit of the account or the IP address.

        Return whether the limit is exceeded.
        """
        try:
            if self.request.user.is_authenticated:
                consume("read", str(self.request.user.pk))
            else:
                consume_by_address("anonymous", self.request)
        except RateLimited as refusal:
            self.refusal = refusal
        return self.refusal is not None


def rows_of(offer: Offer) -> list[Row]:
    """Return an offer's amounts, rates, terms, and states as (title, value) rows."""
    conventions = offer.conventions
    months = ", ".join(map(str, sorted(offer.term_options_months or ())))
    rows = [
        (gettext("Amount"), _amounts_of(offer)),
        (
            gettext("Borrowing rate a year") if conventions.is_eu else gettext("Annual percentage rate"),
            _RANGE.join(rates_of(offer).values()),
        ),
        (gettext("Number of months"), months),
        (gettext("States"), states_in_words(offer.included_states or ())),
        (gettext("Not in"), states_in_words(offer.excluded_states or ())),
    ]
    return [row for row in rows if row[1]]


def _amounts_of(offer: Offer) -> str:
    """Return the limits of an offer's amount in words, or "" without limits."""
    currency = offer.conventions.shown_currency
    least, most = offer.loan_amount_min_cents, offer.loan_amount_max_cents
    if most is None:
        return "" if least is None else gettext("At least %(minimum)s") % {"minimum": money(least, currency)}
    if least is None:
        return gettext("At most %(maximum)s") % {"maximum": money(most, currency)}
    return _RANGE.join(dict.fromkeys((money(least, currency), money(most, currency))))


class _Outdated(ValidationFailed):
    """The draft was changed after the form was opened, or the offer already has a draft."""


def _drafts(request: HttpRequest, offer: Offer) -> QuerySet[Application]:
    return own_applications(request).filter(offer_id=offer.pk, status=states.DRAFT).order_by("-id")


def _show(
    request: HttpRequest,
    typed: ApplicationForms,
    application: Application | None = None,
    *,
    prefilled_from: str = "",
    is_outdated: bool = False,
) -> HttpResponse:
    """Return the page of the form. The form's field `state` identifies the version of the draft that a save replaces.

    `state` is the time of the draft's last change, or empty for a new application. If the applicant already has a draft
    for the offer, the page shows the form again, with this draft's ID. If the applicant sends this form, another draft
    is created. A form that has errors, or that is restored after a log-in, retains its state.
    """
    offer = typed.offer
    draft = _drafts(request, offer).first() if application is None else None
    state = application.updated_at.isoformat() if application else ""
    if draft is not None and is_outdated:
        state = str(draft.pk)
    has_errors = any(form.is_bound and form.errors for form in (typed.data, typed.first, typed.second))
    facts = {
        "forms": typed,
        "offer": offer,
        "application": application,
        # Without an action, the form's next page would inherit the fragment #installments of this page.
        "action": reverse("my_edit", args=[application.pk])
        if application
        else reverse("my_apply_for", args=[offer.pk]),
        "steps": typed.steps(),
        "first": groups_of(typed.first),
        "second": groups_of(typed.second),
        "states": suggested_states(),
        "has_errors": has_errors,
        "errors": typed.errors_by_field(),
        "prefilled_from": prefilled_from,
        "discard": DISCARD,
        "rates": rates_of(offer),
        "installments": installments_of(offer, typed.loan(), today=timezone.now().date()),
        "automation": describe_automation(offer),
        "draft": draft,
        "is_outdated": is_outdated,
        "state": state if is_outdated else typed.data.data.get("state", state),
    }
    return render(request, "credit/my/form.html", facts, status=400 if has_errors else 200)


def _show_to_visitor(request: HttpRequest, offer: Offer, *, is_prefilled: bool = False) -> HttpResponse:
    """Return the public page of an offer: its terms, and what an applicant needs before the sign-up."""
    forms = ApplicationForms(offer, language=active_language())
    facts = {
        "offer": forms.offer,
        "rows": rows_of(forms.offer),
        "answers": forms.required_labels(),
        "documents": [document_title(offer.terms(), title) for title in forms.requirements.documents],
        "min_age": forms.requirements.min_age,
        "availability": availability_of(offer),
        "draft_days": IDLE_DAYS[states.DRAFT],
        "decision_days": Clock.DAYS[Clock.APPLICATION],
        "automation": describe_automation(offer),
        "is_prefilled": is_prefilled,
        "may_sign_up": get_adapter(request).is_open_for_signup(request),
    }
    return render(request, "credit/my/offer.html", facts)


class _FormPage(MyPage):
    """The form of an application. It has a button to save a draft, and a button that requires complete data."""

    restores_text = True

    def answer(self, request: HttpRequest, offer: Offer, application: Application | None) -> HttpResponse:
        do = request.POST.get("do", "")
        if do.startswith(_LANGUAGE):
            # On another page, the entered values would be lost. The language buttons precede the form's other buttons.
            # Enter presses the first button, so a hidden button precedes them.
            before, language = active_language(), store_language(request.user, do.removeprefix(_LANGUAGE))
            fields = _with_language(request.POST, before, language) if language else request.POST
            with override(language or before):
                return _show(request, _forms_of(request, offer, fields, application=application), application)
        is_complete = do == _CHECK
        typed = _forms_of(request, offer, request.POST, application=application)
        if do == _ESTIMATE:
            typed.require_loan()
            return _show(request, typed, application)
        changes = typed.to_changes(is_complete=is_complete)
        if changes is None:
            return _show(request, typed, application)
        try:
            consume("write", str(request.user.pk))
            stored = _store(request, typed, application, changes)
        except _Outdated:
            if application is not None:
                application.refresh_from_db(fields=["updated_at"])
            return _show(request, typed, application, is_outdated=True)
        except ApiError as refusal:
            messages.error(request, error_message(refusal))
            return _show(request, typed, application)
        done = gettext("Check what you will send.") if is_complete else gettext("Your draft is saved.")
        messages.success(request, done)
        return redirect("my_application", stored.pk)


def _forms_of(request: HttpRequest, offer: Offer, typed: Any = None, **options: Any) -> ApplicationForms:
    return ApplicationForms(offer, typed, language=active_language(), areas=areas_with_data(request.user), **options)


def _with_language(fields: QueryDict, before: str, language: str) -> QueryDict:
    """Return the fields.

    If an applicant's language is the page's former language (`before`), replace it with `language`.
    """
    fields = fields.copy()
    for name in _LANGUAGE_FIELDS:
        if fields.get(name) == before:
            fields[name] = language
    return fields


def _has(draft: Application, typed: ApplicationForms, changes: dict[str, Any]) -> bool:
    """Return whether the draft already has the entered data, applicants, and shared areas."""
    persons = draft.readable_applicants
    return (draft.application_data, persons and persons.persons, PartialApplicants.of(draft), draft.share) == (
        changes["application_data"], changes["applicants"], typed.partial or [], changes["share"],
    )  # fmt: skip


def _store(
    request: HttpRequest, typed: ApplicationForms, application: Application | None, changes: dict[str, Any]
) -> Application:
    now, offer = timezone.now(), typed.offer
    if application is not None:
        actor = actor_on(request)
        with transaction.atomic():
            stored = lock_own(str(application.pk), request.user)
            # The second request of a double click has an older state, and the same data.
            if not is_as_shown(request, stored) and not _has(stored, typed, changes):
                raise _Outdated
            application = change_application(
                str(application.pk), actor=actor, updated_by=actor.name, changes=changes, now=now
            )
            PartialApplicants.write(application, typed.partial)
        return application
    user: Any = request.user
    with transaction.atomic():
        # The second request of a double click waits until the first has stored the draft.
        get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
        drafts = _drafts(request, offer)
        newest = drafts.filter(created_at__gte=now - _SENT_TWICE, moves=0)
        same = next((draft for draft in newest if _has(draft, typed, changes)), None)
        if same is not None:
            return _store(request, typed, same, changes)
        latest = drafts.first()
        if latest is not None and request.POST.get("state") != str(latest.pk):
            raise _Outdated
        draft = create_application(
            consumer_id=user.pk, offer_id=offer.pk, provider_id=int(offer.provider_id), initial_status=None, now=now,
            **changes,
        )  # fmt: skip
        PartialApplicants.write(draft, typed.partial)
    return draft


def _known_person(request: HttpRequest, latest: Applicants | None = None) -> dict[str, Any] | None:
    """Return the first applicant of the latest application, with the page's language as the applicant's language.

    The account's confirmed email address replaces the applicant's address, because it can be newer. Without a latest
    application, the result has only the confirmed address. Without both, it is None.
    """
    address = EmailAddress.objects.filter(user=request.user.pk, primary=True, verified=True).first()
    email = {} if address is None else {"email": address.email}
    if latest is None:
        return {"address": {}, **email} if email else None
    language = active_language()
    is_same = language_of(latest, otherwise=language) == language
    return {**latest.persons[0], **({} if is_same else {"language": language}), **email}


class ApplyPage(_FormPage):
    """The form of a new application. Nothing is stored before the user submits the form.

    Visitors without a log-in see the public page of the offer.
    """

    def handle_no_permission(self) -> Any:
        """Show the offer to a visitor. A sent form, or an offer that visitors can't see, requires a log-in."""
        with localized(self.request):
            offer = self._find(self.kwargs["offer_id"]) if self.request.method in SAFE_METHODS else None
            return super().handle_no_permission() if offer is None else _show_to_visitor(self.request, offer)

    def get(self, request: HttpRequest, offer_id: str) -> HttpResponse:
        offer, latest = self._offer(offer_id), latest_applicants(request.user)
        if fields := restored(request):
            return _show(request, _forms_of(request, offer, fields), prefilled_from="session")
        loan = loan_from(request.GET, offer)
        person = _known_person(request, latest[0].applicants if latest else None)
        typed = _forms_of(request, offer, person=person, loan=loan)
        return _show(request, typed, prefilled_from="application" if latest else "")

    def post(self, request: HttpRequest, offer_id: str) -> HttpResponse:
        return self.answer(request, self._offer(offer_id), None)

    def _offer(self, offer_id: str) -> Offer:
        offer = self._find(offer_id)
        if offer is None:
            raise Http404
        return offer

    def _find(self, offer_id: str) -> Offer | None:
        number = parse_positive_int64(offer_id)
        offers = _with_number(_offers(self.request).visible())
        return None if number is None else offers.filter(pk=number).first()


class LinkPage(InTheirLanguage):
    """The prefilled form of a partner's link. Without a log-in, the page shows only the offer. A GET stores nothing."""

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        try:
            prefill = read_link(token, now=timezone.now())
        except LinkEnded:
            return render(request, "credit/my/link.html", status=410)
        offers = _offers(request).visible() if request.user.is_authenticated else active_offers()
        offer = _with_number(offers).filter(pk=prefill.offer_id).first()
        if offer is None:
            return render(request, "credit/my/link.html", status=410)
        if not request.user.is_authenticated:
            return _show_to_visitor(request, offer, is_prefilled=True)
        typed = _forms_of(request, offer, prefill=prefill, person=_known_person(request))
        return _show(request, typed, prefilled_from="link")


def _unsaved(application: Application) -> str:
    """Return the message that the form was not saved, because the application is not an editable draft."""
    if application.submitted_at is not None:
        return gettext("The application was already sent. Your changes were not saved.")
    return gettext("The draft can no longer be changed on this page. Your changes were not saved.")


class EditPage(_FormPage):
    """The form that edits a draft."""

    def get(self, request: HttpRequest, application_id: str) -> HttpResponse:
        application = get_by_uuid(own_applications(request), application_id, Http404)
        offer = offer_to_edit(application)
        if offer is None:
            if request.method == "POST":
                messages.error(request, _unsaved(application))
            return redirect("my_application", application_id)
        if request.method == "POST":
            return self.answer(request, offer, application)
        fields = restored(request)
        typed = _forms_of(request, offer, fields, application=application)
        return _show(request, typed, application, prefilled_from="session" if fields else "")

    post = get


_HEADERS = {
    # With this policy, an SVG that is opened directly can't run scripts or load anything.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "X-Content-Type-Options": "nosniff",
    # The URL contains the file's digest, so the file never changes.
    "Cache-Control": "public, max-age=31536000, immutable",
}


@require_safe
def logo(_request: HttpRequest, sha256: str) -> HttpResponse:
    """Return the logo with this SHA-256 (lowercase hex), if a lender uses it."""
    stored = ProviderLogo.objects.filter(sha256=sha256).values_list("content", "media_type").first()
    if stored is None:
        raise Http404
    content, media_type = stored
    return HttpResponse(bytes(content), content_type=media_type, headers=_HEADERS)
