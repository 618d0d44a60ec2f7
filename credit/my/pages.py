import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.db import transaction
from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language_from_request, gettext, override
from django.views.generic import ListView, View

from config.api.rate_limits import consume
from config.core.digest import digest_of
from config.core.errors import ApiError, NotFound, ValidationFailed
from config.core.ids import get_by_uuid
from config.core.lifecycle import Actor, RecordNotEditable
from config.core.time_zones import zone_label
from credit.applications.lenders import lender_of
from credit.applications.services import IDLE_DAYS, lock_own
from credit.applications.withdrawal_right import is_withdrawable
from credit.core import deadlines
from credit.core import machine as states
from credit.core.applicant_schema import title_of_member, value_at
from credit.core.applicants import JOINT_APPLICATION, JOINT_CREDIT, LANGUAGES, Applicants, language_of
from credit.core.due import Due
from credit.core.figures import money, reference_of
from credit.core.loan_words import in_words, rows_of, with_costs_of_line
from credit.core.translations import active_language, fill, in_language
from credit.models import (
    Application,
    ApplicationHistory,
    Consent,
    Counteroffer,
    Notice,
    Offer,
    PartialApplicants,
    ReviewRequest,
)
from credit.models.applications import LENDER_NAME, WITH_CURRENCY
from credit.models.notices import EMAIL, PORTAL
from credit.models.partial_applicants import Persons
from credit.my import content, history
from credit.my.forms import field_id, missing_figures
from credit.my.person_form import required_paths
from credit.my.words import (
    delivery_in_words,
    describe_missing,
    error_message,
    name_applicant,
    principal_reasons,
    read_lines,
    reason_in_words,
    standing_of,
    texts_of_reasons,
)
from credit.notices import services as notices
from credit.requirements.services import of_application, requirements_of
from credit.review.services import change_status
from credit.scoring.corrections import correctable_facts
from credit.terms import acceptance, counteroffers
from credit.terms.loans import starts_by
from identity.accounts.languages import chosen_language

# Maps a status to the transition that sends the application to the lender.
_SENDS = {states.DRAFT: states.SUBMITTED, states.PENDING_DOCUMENTS: states.UNDER_REVIEW}
_COLUMNS = (
    "id", "status", "provider_id", "accepted_at", "withdrawn_from_at", "amount_cents", "created_at", "offer_snapshot",
    "submitted_at", "updated_at",
)  # fmt: skip
# The page of a draft shows the current name of the offer.
_OFFER_TEXTS = ("name", "language", "translations")
# The list has applications that wait for the applicant first, then drafts, then other open applications, then closed
# applications.
_WAITING = Q(status=states.PENDING_DOCUMENTS) | Q(status=states.APPROVED, accepted_at__isnull=True) | Q(is_offered=True)
_RANK = Case(
    When(_WAITING, then=0),
    When(status=states.DRAFT, then=1),
    When(status__in=(states.REJECTED, states.WITHDRAWN, states.EXPIRED), then=3),
    default=2,
)
_LATEST = 5  # this many applications determine the language and the time zone
_BODY = re.compile(r"<body[^>]*>")


def actor_on(request: HttpRequest) -> Actor:
    return Actor(user=request.user, credential="my")


class Latest(NamedTuple):
    """The applicants and the status of an application."""

    applicants: Applicants
    status: str
    application_id: UUID


def own_applications(request: HttpRequest) -> QuerySet[Application]:
    return Application.objects.filter(consumer=request.user.pk)


def is_as_shown(request: HttpRequest, application: Application) -> bool:
    """Return whether the application is unchanged since the page with the submitted form was opened."""
    return request.POST.get("state") == application.updated_at.isoformat()


def _with_standing(own: QuerySet[Application], *, now: datetime) -> QuerySet[Application]:
    """Annotate applications with the data that `standing_of` and `_heading` require.

    The data are the lender's name, a draft's currency, and the time of the current status. They also include the amount
    and the fixed first payment of the open counteroffer or of the approved terms, and the counteroffer's deadline. They
    also include whether the lender made a counteroffer, the applicant declined the loan, or a reconsideration is open.
    """
    moved = ApplicationHistory.objects.filter(application=OuterRef("pk")).order_by("-position").values("changed_at")
    waiting = Counteroffer.objects.filter(application=OuterRef("pk"), closed_at__isnull=True, expires_at__gt=now)
    return own.annotate(
        **WITH_CURRENCY,
        since=Coalesce(Subquery(moved[:1]), "created_at"),
        lender=LENDER_NAME,
        **{
            f"offer_{name}": Subquery(Offer.objects.filter(pk=OuterRef("offer_id")).values(name)[:1])
            for name in _OFFER_TEXTS
        },
        is_offered=Exists(waiting),
        terms_cents=Coalesce(Subquery(waiting.values("loan_terms__amount_cents")[:1]), "loan_terms__amount_cents"),
        offered_until=Subquery(waiting.values("expires_at")[:1]),
        first_payment_on=Coalesce(
            Subquery(waiting.values("loan_terms__first_payment_on")[:1]), "loan_terms__first_payment_on"
        ),
        is_declined=Exists(
            ApplicationHistory.objects.filter(ApplicationHistory.IS_DECLINED, application=OuterRef("pk"))
        ),
        is_asked_again=Exists(ReviewRequest.objects.filter(application=OuterRef("pk"), answered_at__isnull=True)),
    )


@contextmanager
def localized(request: HttpRequest) -> Iterator[None]:
    """Activate the language that the user chose, and the time zone of the page's application or of the user.

    If the user chose no language, the latest application with applicants determines the language. Without this
    application, the browser determines it. The default time zone is UTC.
    """
    latest = latest_applicants(request.user) if request.user.is_authenticated else []
    language = chosen_language(request) or language_of(
        latest[0].applicants if latest else None, otherwise=get_language_from_request(request)
    )
    request.LANGUAGE_CODE = language  # Django's error page uses this attribute
    with override(language), timezone.override(_tzinfo_on(request, latest)):
        yield


def _tzinfo_on(request: HttpRequest, latest: list[Latest]) -> tzinfo:
    """Return the time zone of the page's application, or of the user.

    Mails about the application use the same time zone. If the application is not in `latest`, it is read.
    """
    application_id = request.resolver_match.kwargs.get("application_id")  # type: ignore[union-attr]
    if application_id is None or not request.user.is_authenticated:
        return _tzinfo_of(latest)
    for row in latest:
        if str(row.application_id) == application_id:
            return deadlines.tzinfo_of(row.applicants)
    application = get_by_uuid(own_applications(request).only("applicants"), application_id, Http404)
    return deadlines.tzinfo_of(application.readable_applicants)


def latest_applicants(user: Any) -> list[Latest]:
    """Return the applicants and the status of the user's latest applications, newest first.

    The list has no applications without readable applicants.
    """
    own = Application.objects.filter(consumer=user)
    rows = own.only("applicants", "status").order_by("-id")[:_LATEST]
    return [Latest(persons, row.status, row.pk) for row in rows if (persons := row.readable_applicants)]


def tzinfo_of_user(user: Any) -> tzinfo:
    """Return the time zone of the user's dates on `/my` and `/account`."""
    return _tzinfo_of(latest_applicants(user))


def _tzinfo_of(latest: list[Latest]) -> tzinfo:
    """Return the time zone of the latest sent application with a known zone, otherwise of a draft, otherwise UTC.

    Drafts come last, so that the dates of a list don't change while the applicant edits a draft.
    """
    for row in sorted(latest, key=lambda row: row.status == states.DRAFT):
        if deadlines.zone_of(row.applicants) != deadlines.UNKNOWN:
            return deadlines.tzinfo_of(row.applicants)
    return UTC


class InTheirLanguage(View):
    def dispatch(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        with localized(request):
            try:
                answer = super().dispatch(request, *args, **options)
            except NotFound as refusal:
                raise Http404 from refusal
            return answer.render() if isinstance(answer, TemplateResponse) else answer


class MyPage(LoginRequiredMixin, InTheirLanguage):
    """A page that requires a log-in. It is displayed in the language of the user's latest application."""


class ApplicationsPage(MyPage, ListView):  # type: ignore[type-arg]
    template_name = "credit/my/applications.html"
    paginate_by = 20

    def get_queryset(self) -> QuerySet[Application]:
        own = _with_standing(own_applications(self.request), now=timezone.now()).only(*_COLUMNS)
        return own.alias(rank=_RANK).order_by("rank", "-id")

    def get_context_data(self, **options: Any) -> dict[str, Any]:
        context = super().get_context_data(**options)
        now = timezone.now()
        rows = [(application, _heading(application, now)) for application in context["object_list"]]
        return context | {"rows": rows, "zone": zone_label(now)}


def _due_by(application: Any, now: datetime) -> str:
    """Return the deadline of the applicant's next step in words, or "" if it has none or has passed."""
    ends = [application.offered_until]
    if application.offered_until is None and application.accepted_at is None and application.status in IDLE_DAYS:
        ends = [application.updated_at + timedelta(days=IDLE_DAYS[application.status])]
    if application.offered_until is not None or application.status == states.APPROVED:
        ends.append(starts_by(application))
    due_by = min(filter(None, ends), default=now)
    return deadlines.in_words(due_by, timezone.get_current_timezone_name()) if due_by > now else ""


def _heading(application: Any, now: datetime) -> dict[str, Any]:
    terms = application.offer_snapshot or {name: getattr(application, f"offer_{name}") for name in _OFFER_TEXTS}
    requested, cents = application.amount_cents, application.terms_cents
    is_other = None not in {requested, cents} and cents != requested
    return {
        "reference": reference_of(application.pk),
        "lender": application.lender or gettext("Lender %s") % application.provider_id,
        "amount": money(requested if cents is None else cents, application.shown_currency),
        "requested": money(requested, application.shown_currency) if is_other else "",
        "offer": in_language(terms).get("name", ""),
        "standing": standing_of(application),
        "due_by": _due_by(application, now),
        "since": application.since,
    }


class ApplicationPage(MyPage):
    """The page of an application. Each button posts its action as `do`, and the parameters of the action."""

    def get(self, request: HttpRequest, application_id: str) -> HttpResponse:
        now = timezone.now()
        application = get_by_uuid(_with_standing(own_applications(request), now=now), application_id, Http404)
        return render(request, "credit/my/application.html", _facts(application, now))

    def post(self, request: HttpRequest, application_id: str) -> HttpResponse:
        get_by_uuid(own_applications(request), application_id, Http404)
        does, to = _BUTTONS.get(request.POST.get("do", "")), reverse("my_application", args=[application_id])
        return run_action(request, "write", lambda: does and does(request, application_id), to)


def _facts(application: Any, now: datetime) -> dict[str, Any]:
    due = (
        of_application(application, is_own=True, now=now, read=in_language)["currently_due"]
        if application.status == states.DRAFT
        else []
    )
    documents = content.checklist_of(application)
    terms = acceptance.describe(application, now=now)
    zone = timezone.get_current_timezone_name()
    pricing = Notice.undelivered_about_pricing(application).values("pk", "sha256", "applicant").first()
    # The page of the terms has a button to decline the approval, so this page needs no button to withdraw.
    declines = application.status == states.APPROVED and terms.acceptable and pricing is None
    moves = list(application.history.order_by("-position"))
    last_reason = reason_in_words(moves[0]) if moves else ""
    offer = content.offer_to_edit(application)
    missing_words = _missing_words(application, offer, due)
    is_loan, costs = False, {}
    if terms.as_of is not None:
        is_loan, costs = True, with_costs_of_line(terms.terms, application.offer_snapshot, start=terms.as_of)
    notices_made = history.notices_of(application, now=now)
    has_consented = Consent.is_given_by(application.consumer_id)
    to_deliver = {notice["kind"] for notice in notices_made if not notice["is_cancelled"]}
    offered = counteroffers.acceptable_of(application, now=now)
    heading, asked = _heading(application, now), history.reconsideration_of(application, moves)
    delays = {**documents, **asked, "due": missing_words}
    return {
        "application": application,
        "heading": heading,
        "steps": history.next_step_of(application, heading["standing"], terms, pricing=pricing, page=delays, now=now),
        "due": missing_words,
        **documents,
        "edits": offer is not None,
        "declares": joint_intent_of(application, JOINT_APPLICATION) if application.status == states.DRAFT else "",
        "sent": content.describe(application),
        "lender": lender_of(application),
        "sends": application.status in _SENDS and not due and not documents["missing"] and not missing_words,
        "withdraws": states.WITHDRAWN in application.requestable() and not declines,
        "terms": terms,
        "loan": in_words(terms.terms) if is_loan else "",
        "costs": rows_of(costs, start=terms.as_of) if is_loan else [],
        "assumptions": costs.get("assumptions"),
        "offered": offered,
        "offered_because": [] if offered is None else texts_of_reasons(offered.reasons, application),
        "has_agreement": application.accepted_at is not None and application.loan_terms_id is not None,
        "withdrawable": is_withdrawable(application),
        "corrects": application.status != states.DRAFT and bool(correctable_facts(application)),
        "has_proof": application.anchors.filter(notice=None, withdrawal=None).exists(),
        "notices": notices_made,
        "also_delivered": delivery_in_words(to_deliver, has_consented=has_consented),
        "offers_consent": not has_consented and {PORTAL, EMAIL} & {*settings.NOTICE_CHANNELS},
        "pricing": pricing,
        "deadline": terms.expires_at and deadlines.in_words(terms.expires_at, zone),
        **asked,
        "accepted_at": application.accepted_at and deadlines.in_words(application.accepted_at, zone),
        "moves": history.events_of(application, moves, asked["requests"]),
        "reasons": principal_reasons(moves[0]) if moves and application.status == states.REJECTED else [],
        "rejected_because": last_reason if application.status == states.REJECTED else "",
        "requested_because": last_reason if application.status == states.PENDING_DOCUMENTS else "",
    }


def run_action(request: HttpRequest, limit: str, do: Callable[[], Any], to: str, *, field: str = "") -> HttpResponse:
    """Run a form's action, and redirect to the URL `to` with the result. `field` is the HTML ID for an error."""
    try:
        consume(limit, str(request.user.pk))
        done = do()
    except ApiError as refusal:
        return refuse(request, refusal, to, field)
    messages.success(request, done or gettext("Nothing was changed. Reload the page, and try again."))
    return HttpResponseRedirect(to)


def refuse(request: HttpRequest, refusal: ApiError, to: str, field: str) -> HttpResponse:
    """Redirect to the URL `to` with an error. `field` is the HTML ID for the error."""
    messages.error(request, error_message(refusal), extra_tags=field)
    return HttpResponseRedirect(f"{to}#{quote(field)}" if field else to)


def _missing_words(application: Application, offer: Offer | None, due: Sequence[Due] = ()) -> list[tuple[str, str]]:
    """Describe the missing data of an application: what the API requires (`due`), and what the draft's form requires.

    Return the words and the HTML ID of the form's field, or "" without a field. The form also requires an amount and a
    term, complete applicants, and the state of an address in the US or Canada. The API has no partial applicants, so
    the API would report all fields of a partial applicant as missing.
    """
    partial = PartialApplicants.of(application)
    persons = partial or [*(application.readable_applicants or ())] if offer is not None else partial
    due = [item for item in due if item.type != "document" and not (partial and item.pointer.startswith("/applicants"))]
    pointers = {item.pointer for item in due}
    missing = [(item.pointer, describe_missing(item)) for item in due]
    titles = {
        f"/applicants/{number - 1}/{path.replace('.', '/')}": gettext(title_of_member(path))
        for number, path in _missing_members(application, persons)
    }
    if offer is not None:
        figures = missing_figures(content.offer_to_read(offer), application.application_data)
        titles |= {f"/application_data/{name}": title for name, title in figures.items()}
    words = gettext("“%s” is missing.")
    missing += [(pointer, fill(words, title)) for pointer, title in titles.items() if pointer not in pointers]
    is_joint = any([*(partial or application.readable_applicants or ())][1:])
    return [
        (
            name_applicant(number, text) if is_joint and (number := _applicant_number(pointer)) else text,
            field_id(pointer),
        )
        for pointer, text in missing
    ]


def _applicant_number(pointer: str) -> int:
    """Return the number of the applicant that a pointer is about, or 0 for a pointer to other data."""
    return int(pointer.split("/")[2]) + 1 if pointer.startswith("/applicants/") else 0


def _missing_members(application: Application, persons: Persons) -> Iterator[tuple[int, str]]:
    """Yield each field that the form requires and an applicant lacks: the applicant's number, and the field's path.

    The second applicant is optional.
    """
    if not persons:
        return
    requires = requirements_of(application).applicant
    for number, person in enumerate((persons[0] or {"address": {}}, *filter(None, persons[1:])), start=1):
        for path in required_paths(person, requires):
            if value_at(person, path) is None:
                yield number, path


def _send(request: HttpRequest, application_id: str) -> str:
    with transaction.atomic():
        application = lock_own(application_id, request.user)
        to, offer = _SENDS.get(application.status, states.SUBMITTED), content.offer_to_edit(application)
        if application.status in _SENDS and not is_as_shown(request, application):
            raise ValidationFailed(
                gettext("The application was changed after you opened the page. Nothing was sent. Check it again.")
            )
        if missing := _missing_words(application, offer):
            raise ValidationFailed(" ".join(words for words, _field in missing))
        declared = None
        if application.status == states.DRAFT and require_joint_intent(request, application):
            declared = {JOINT_CREDIT: {"declaration": gettext(JOINT_APPLICATION), "language": active_language()}}
        is_answer = application.status == states.PENDING_DOCUMENTS and application.requested_documents.exists()
        done = (
            gettext("The documents were sent to the lender.")
            if is_answer
            else gettext("The application was sent to the lender.")
        )
        return _move(request, application_id, to, done, declared)


def _withdraw(request: HttpRequest, application_id: str) -> str:
    return _move(request, application_id, states.WITHDRAWN, gettext("The application was withdrawn."))


def _close(request: HttpRequest, application_id: str) -> str:
    """Withdraw a draft. Raises RecordNotEditable if the application was already sent, for example in another tab."""
    with transaction.atomic():
        if lock_own(application_id, request.user).status != states.DRAFT:
            raise RecordNotEditable("The application is not a draft.")
        return _move(request, application_id, states.WITHDRAWN, gettext("The draft was closed."))


def joint_intent_of(application: Application, declaration: str) -> str:
    """Return the declaration of two applicants in the active language, or "" for a single applicant."""
    applicants = application.readable_applicants
    return gettext(declaration) if applicants is not None and applicants.are_joint else ""


def require_joint_intent(request: HttpRequest, application: Application) -> bool:
    """Return whether the application has two applicants. Raises ValidationFailed if their declaration is missing."""
    if not joint_intent_of(application, JOINT_APPLICATION):
        return False
    if request.POST.get("joint") != "yes":
        raise ValidationFailed(gettext("Confirm that both applicants agree."))
    return True


def _move(request: HttpRequest, application_id: str, to: str, message: str, metadata: Any = None) -> str:
    actor = actor_on(request)
    options: dict[str, Any] = {"actor": actor, "changed_by": actor.name, "reason": None, "metadata": metadata}
    with transaction.atomic():
        change_status(application_id, to, **options, now=timezone.now())
    return message


def _ask_again(request: HttpRequest, application_id: str) -> str:
    statement = read_lines(request.POST.get("statement", ""))
    if not 0 < len(statement) <= notices.STATEMENT_MAX:
        raise ValidationFailed(gettext("Enter your reasons for reconsideration, at most 4,000 characters."))
    notices.request_review(application_id, statement=statement, actor=actor_on(request), now=timezone.now())
    return gettext("A reviewer who had no part in the decision will reconsider it.")


_BUTTONS = {"ask_again": _ask_again, "close": _close, "send": _send, "withdraw": _withdraw}


class NoticePage(MyPage):
    """The page with links to the application and to a download, followed by the exact text of a notice.

    If the applicant opens or downloads the page, the notice is delivered.
    """

    def get(self, request: HttpRequest, application_id: str, notice_id: str) -> HttpResponse:
        now = timezone.now()
        get_by_uuid(own_applications(request), application_id, Http404)
        notice = notices.load_notice(application_id, notice_id, actor_on(request))
        if notice.html is None:
            raise Http404
        notices.record_opening(notice, actor=actor_on(request), now=now)
        if "download" in request.GET:
            return _downloaded(notice)
        end, application = history.end_of_notice(notice, notice.application, now=now), notice.application
        context = {
            "application_id": application_id,
            "end": end,
            "explains": notice.counteroffer is not None and notice.counteroffer.closed_at is None and not end,
            "may_ask_again": application.is_reconsiderable and application.open_review_request is None,
        }
        back = render_to_string("credit/my/back.html", context, request)
        return HttpResponse(_BODY.sub(lambda body: body[0] + back, notice.html, count=1))


def _downloaded(notice: Notice) -> HttpResponse:
    """Return the exact bytes that the notice's hash covers, as a file."""
    name = f"{notice.kind}-{reference_of(notice.application_id)}.html"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
    return HttpResponse(notice.html, headers=headers)


def _consent_language(wanted: str) -> str:
    """Return the wanted language if the consent text exists in this language, otherwise the default language."""
    return wanted if wanted in LANGUAGES else LANGUAGES[0]


class ConsentPage(MyPage):
    """The page of the consent to electronic notices. It shows the text, and a button to agree or to withdraw."""

    def get(self, request: HttpRequest) -> HttpResponse:
        language = _consent_language(active_language())
        text = notices.consent_text(language)
        facts = {"text": text, "text_sha256": digest_of(text), "language": language}
        return render(request, "credit/my/consent.html", {**facts, "is_given": Consent.is_given_by(request.user.pk)})

    def post(self, request: HttpRequest) -> HttpResponse:
        actor, now = actor_on(request), timezone.now()
        language = _consent_language(request.POST.get("language", active_language()))
        try:
            consume("write", str(request.user.pk))
            if request.POST.get("do") == "agree":
                text_sha256 = request.POST.get("text_sha256", "")
                notices.give_consent(text_sha256=text_sha256, language=language, actor=actor, now=now)
            elif request.POST.get("do") == "withdraw":
                notices.withdraw_consent(actor=actor, now=now)
        except ApiError as refusal:
            messages.error(request, error_message(refusal))
        return redirect("my_consent")
