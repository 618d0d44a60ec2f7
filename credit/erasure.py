"""Select the applications of an erased account that must be retained. Delete the files of all other applications."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.utils.translation import gettext

from config.core.erasure import CHUNK_ROWS, Ends
from credit.core.figures import date_in_words, reference_of
from credit.core.machine import APPROVED, IN_REVIEW, PENDING_DOCUMENTS
from credit.documents.storage import delete_file
from credit.models import Application, Clock, Notice, RetentionHold, StoredFile
from credit.models.notices import UNDELIVERED
from credit.notices.retention import REGULATION_B, grounds_of

# The query omits the applicant's data, because it can be large, and an account can have many applications.
_DATED = ("submitted_at", "updated_at", "accepted_at", "withdrawn_from_at", "loan_terms__term_months")


def kept_applications(user_id: int, *, now: datetime) -> Ends:
    """Map each application that must be retained to the end of its retention period.

    The end is None during a litigation hold.

    Records of a loan are retained for the term of the loan (GDPR Article 6(1)(b)). Withdrawn and expired applications
    are retained as long as rejected applications. While a notice is due, the period starts at the due date of the
    notice. Drafts that were never submitted have no retention ground.
    """
    ends: Ends = {}
    held = set(RetentionHold.held().filter(application__consumer=user_id))
    applications = Application.objects.filter(consumer=user_id).select_related("loan_terms").only(*_DATED)
    for application in applications.iterator(chunk_size=CHUNK_ROWS):
        days = [kept.until for kept in grounds_of(application)]
        if application.submitted_at is not None:
            days.append(application.updated_at + REGULATION_B.period)
        days += _loan_ends(application)
        days += [due + REGULATION_B.period for due in _due_dates(application)]
        last = max(days, default=now)
        if application.pk in held:
            ends[application.pk] = None
        elif last > now:
            ends[application.pk] = last
    return ends


def _loan_ends(application: Application) -> list[datetime]:
    """Return a list with the end of an accepted loan, or an empty list for a line of credit and after a withdrawal."""
    terms, at = application.loan_terms, application.accepted_at
    if terms is None or at is None or terms.term_months is None or application.withdrawn_from_at is not None:
        return []
    return [at + timedelta(days=31 * (terms.term_months + 1))]


def _due_dates(application: Application) -> Iterator[datetime]:
    running = Clock.objects.filter(application=application, stopped_at__isnull=True, kind__in=Clock.TO_NOTIFY)
    yield from running.values_list("due_at", flat=True)
    undelivered = Notice.objects.filter(application=application, status__in=UNDELIVERED)
    yield from undelivered.values_list("due_at", flat=True)


def open_applications(user_id: int) -> Iterator[tuple[str, datetime | None]]:
    """Yield a message and the due date for each undecided application, and for each unaccepted approval.

    Approvals of a disabled account are excluded, because they can no longer be accepted.
    """
    open_ones = Application.objects.filter(
        consumer=user_id, accepted_at__isnull=True, status__in=(*IN_REVIEW, PENDING_DOCUMENTS, APPROVED)
    )
    for application in open_ones.exclude(status=APPROVED, consumer__is_active=False):
        clock = Clock.objects.filter(application=application, stopped_at__isnull=True).order_by("due_at").first()
        reason = gettext("Application %(reference)s is open. Withdraw the application, or wait until it is closed.")
        reason %= {"reference": reference_of(application.pk)}
        if clock is None:
            yield reason, None
        else:
            next_deadline = gettext("Its next deadline is %(day)s.") % {"day": date_in_words(clock.due_at)}
            yield f"{reason} {next_deadline}", clock.due_at


def delete_files(user_id: int, *, now: datetime) -> None:
    """Delete the uploaded files, with their keys, of the applications without a retention ground.

    Files that were already deleted are deleted again, because a restored backup can contain them.
    """
    files = StoredFile.objects.filter(file__document__application__consumer=user_id)
    kept = kept_applications(user_id, now=now)
    for stored in files.exclude(file__document__application__in=list(kept)):
        delete_file(stored, now=stored.deleted_at or now)


GROUNDS = {"application_records": kept_applications}
