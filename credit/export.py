"""Files, notices and agreements of applications in the copy of a person's data."""

from collections.abc import Callable, Iterator
from functools import partial

from config.core.encryption import UnreadableSecret
from config.core.errors import NotFound, Unavailable
from config.core.export import UNREADABLE
from credit.api.terms.views import agreement_page
from credit.documents import storage
from credit.models import Application, DocumentFile, Notice
from credit.terms.agreement import agreement_of

Part = tuple[str, bytes | str, str]  # its name in the zip, its content, and the table that it belongs to


def uploaded_files(user_id: int) -> Iterator[Part]:
    files = DocumentFile.objects.filter(document__application__consumer=user_id, stored__deleted_at__isnull=True)
    for file in files.exclude(stored=None).select_related("stored", "document").order_by("pk").iterator():
        try:
            content = _or_unreadable(partial(storage.read, file))
        except (NotFound, Unavailable):
            continue  # the log names it
        folder = f"files/{file.document.application_id}"
        yield f"{folder}/{file.pk}.{file.content_type.rpartition('/')[2]}", content, DocumentFile._meta.label


def rendered_notices(user_id: int) -> Iterator[Part]:
    notices = Notice.objects.filter(Notice.FOR_ACCOUNT, application__consumer=user_id, html__isnull=False)
    for notice in notices.order_by("pk").iterator():
        yield f"notices/{notice.pk}.html", _or_unreadable(partial(_text_of, notice)), Notice._meta.label


def rendered_agreements(user_id: int) -> Iterator[Part]:
    accepted = Application.objects.filter(consumer=user_id, accepted_at__isnull=False, loan_terms__isnull=False)
    for application in accepted.order_by("pk").iterator():
        page = _or_unreadable(partial(_agreement_page, application))
        yield f"agreements/{application.pk}.html", page, Application._meta.label


def _text_of(notice: Notice) -> str:
    return str(notice.html)


def _agreement_page(application: Application) -> bytes:
    return agreement_page(None, agreement_of(application)).content


def _or_unreadable(read: Callable[[], bytes | str]) -> bytes | str:
    """Return a part's content, or the word for one that no key opens."""
    try:
        return read()
    except UnreadableSecret:
        return UNREADABLE
