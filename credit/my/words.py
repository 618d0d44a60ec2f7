"""Describe an application's status, its next step, and errors in the applicant's language."""

from collections.abc import Collection, Sequence
from typing import Any

from django.conf import settings
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.api.rate_limits import RateLimited
from config.core.errors import ApiError, NotFound, PayloadTooLarge, Unavailable, UnsupportedMediaType
from config.core.lifecycle import RecordNotEditable
from credit.applications.services import IDLE_DAYS
from credit.core import errors, standing
from credit.core import machine as states
from credit.core.due import REQUIRED, Due
from credit.core.figures import date_in_words
from credit.core.reasons import (
    APPROVED_TEXT,
    COUNTEROFFER_ACCEPTED_TEXT,
    DECLINED_TEXT,
    IDLE_TEXT,
    Reason,
    in_words,
    reasons_of,
    text_of,
)
from credit.core.translations import fill, free_text, marked, worded
from credit.models import ApplicationHistory
from credit.models.notices import EMAIL, PORTAL, POST, PRICING, PROVIDER

_CHANGED = _("The application has changed. Check its current status.")
# Texts of errors for applicants, whose page may be outdated. The first matching class determines the text.
_REFUSALS: dict[type[ApiError], Any] = {
    errors.RequirementsDue: _("Something is still missing."),
    errors.PricingNoticeDue: _("First open the notice about your credit report, or wait until the lender delivers it."),
    errors.TermsChanged: _("The terms have changed. Check them again before you accept."),
    errors.DocumentClosed: _("The document accepts no more files."),
    errors.InfectedFile: _("The file is infected. It was not stored."),
    errors.LockedFile: _(
        "The PDF is protected by a password. Print it to a new PDF without a password, and send the new file."
    ),
    errors.BrokenFile: _(
        "The file is damaged, or only a part of it arrived. Save or scan it again, and send the new file."
    ),
    errors.PhonePicture: _(
        "This is a HEIC picture, which many computers can't open. Save it as JPEG, and send the new file."
    ),
    UnsupportedMediaType: _(
        "The file must be a PDF, JPEG, or PNG. Save or scan it in one of these formats, and send the new file."
    ),
    PayloadTooLarge: _(
        "The file is too large. A file can have at most 10 MB. Save it with a lower resolution, or split it into "
        "several files."
    ),
    RateLimited: _("You sent too many requests. Wait a minute, then try again."),
    errors.InvalidApplicationTransition: _CHANGED,
    errors.NothingToAccept: _CHANGED,
    RecordNotEditable: _CHANGED,
    NotFound: _CHANGED,
    Unavailable: _("This is not available now. Try again later."),
}


def standing_of(application: Any) -> standing.Standing:
    """Return the texts of an application's status. The application requires the annotations of `_with_standing`."""
    if application.accepted_at is not None:
        return standing.ACCEPTED if application.withdrawn_from_at is None else standing.WITHDRAWN_FROM
    if application.status == states.WITHDRAWN and application.is_declined:
        return standing.DECLINED
    if application.status == states.WITHDRAWN and application.submitted_at is None:
        return standing.CLOSED
    if application.is_offered:
        return standing.OFFERED
    if application.is_asked_again and application.status == states.REJECTED:
        return standing.ASKED_AGAIN
    return standing.of_status(application.status)


def error_message(refusal: ApiError) -> str:
    known = (words for kind, words in _REFUSALS.items() if isinstance(refusal, kind))
    return gettext(str(next(known, refusal)))


def read_lines(text: str) -> str:
    """Return the text of a multi-line field.

    Each line end is a single character, as browsers count it.
    """
    return text.replace("\r\n", "\n").strip()


def reason_in_words(move: ApplicationHistory) -> str:
    """Return the reason of a transition in the active language. Texts that people entered are unchanged."""
    if move.reason in {APPROVED_TEXT, DECLINED_TEXT, COUNTEROFFER_ACCEPTED_TEXT}:
        return gettext(move.reason)
    days = IDLE_DAYS.get(move.previous_status or "")
    if move.status == states.EXPIRED and days is not None and move.reason == IDLE_TEXT.format(days=days):
        return gettext(IDLE_TEXT).format(days=days)
    reasons = reasons_of(move.metadata)
    if move.reason is None:
        return ""
    if move.reason == in_words(reasons):
        texts = texts_of_reasons(reasons, move.application, move.metadata)
        return format_html("{}.", format_html_join("; ", "{}", ((marked(text),) for text in texts)))
    is_own = move.principal_id == move.application.consumer_id
    return move.reason if is_own else free_text(move.reason, move.application.offer_snapshot, move.metadata)


def texts_of_reasons(reasons: Sequence[Reason], application: Any, metadata: Any = None) -> list[str]:
    """Return the principal reasons in the active language.

    Add the language to each reason that is a text of the lender.
    """
    terms = application.offer_snapshot
    return [
        gettext(text_of(reason)) if isinstance(reason, str) else free_text(text_of(reason), terms, metadata)
        for reason in reasons
    ]


def principal_reasons(move: ApplicationHistory) -> list[str]:
    """Return the reasons of a rejection in the active language.

    If the rejection's text already lists them, the result is empty.
    """
    reasons = reasons_of(move.metadata)
    return [] if move.reason == in_words(reasons) else texts_of_reasons(reasons, move.application, move.metadata)


def describe_missing(due: Due) -> str:
    """Describe a missing or invalid item with the title from the offer."""
    if due.coming is not None:
        words = gettext("Each applicant must be at least %(years)s years old. You can apply from %(day)s.")
        return words % {"years": due.coming.years, "day": date_in_words(due.coming.day)}
    is_missing = due.why == REQUIRED
    sentence = gettext("“%s” is missing.") if is_missing else gettext("“%s” doesn't meet the lender's requirement.")
    return fill(sentence, worded(due.title))


def name_applicant(number: int, words: Any) -> str:
    """Prefix a text about an applicant's field with the applicant's number."""
    return format_html("{}: {}", gettext("Applicant %(number)s") % {"number": number}, words)


def delivery_in_words(kinds: Collection[str], *, has_consented: bool) -> str:
    """Describe the other ways in which the applicant receives notices of these kinds.

    Return "" if no other way is necessary.

    If the applicant has consented, notices are electronic. A notice about the price is electronic even without consent
    (12 CFR 1022.73(b)(1)).
    """
    channels = {*settings.NOTICE_CHANNELS}
    if has_consented and channels & {PORTAL, EMAIL}:
        return ""
    is_price_here = PRICING in kinds and PORTAL in channels
    if not set(kinds) - ({PRICING} if is_price_here else set()):
        return ""
    words = {
        (True, True): gettext("You also receive these notices by post or from the lender."),
        (True, False): gettext("We also send these notices by post."),
        (False, True): gettext("You also receive these notices from the lender."),
        (False, False): "",
    }[POST in channels, PROVIDER in channels]
    if words and is_price_here:
        words += " " + gettext(
            "The notice about your credit report and the price of the credit is only available here."
        )
    return words
