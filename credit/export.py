"""Export the applications of an account: files, notices, agreements, and filtered values of database rows.

The export excludes facts about other applications and, except in agreements and files, data of the second applicant. An
export for a partner also excludes reports.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from cryptography.exceptions import InvalidTag

from config.core.encryption import UnreadableSecret, readable
from config.core.erasure import CHUNK_ROWS
from config.core.errors import NotFound, Unavailable
from config.core.export import UNREADABLE
from config.core.json_text import canonical_json
from credit import models
from credit.anchoring.fact_hashes import without_person
from credit.api.terms.views import agreement_page
from credit.core.applicants import FIRST
from credit.core.facts import PERSON
from credit.documents import storage
from credit.terms.agreement import agreement_of

LOST = "unreadable: the stored file is missing or damaged"
# A part has a file name in the zip file, a content, and the label of a database table.
Part = tuple[str, bytes | str, str]


def uploaded_files(user_id: int) -> Iterator[Part]:
    files = models.DocumentFile.objects.filter(document__application__consumer=user_id, stored__deleted_at__isnull=True)
    for file in files.exclude(stored=None).select_related("stored", "document").order_by("pk").iterator():
        try:
            content = readable(partial(storage.read, file), UNREADABLE)
        except NotFound:
            # The file was deleted in the meantime.
            continue
        except Unavailable as error:
            if not _is_lost(str(file.stored), error):
                raise
            content = LOST
        folder = f"files/{file.document.application_id}"
        yield f"{folder}/{file.pk}.{file.content_type.rpartition('/')[2]}", content, models.DocumentFile._meta.label


def _is_lost(name: str, error: Unavailable) -> bool:
    """Return whether the storage works, but the file is missing or damaged. The log has the file's ID."""
    cause = error.__cause__
    return cause is None or isinstance(cause, InvalidTag) or not storage.storage().exists(name)


def rendered_notices(user_id: int) -> Iterator[Part]:
    notices = models.Notice.objects.filter(models.Notice.FOR_ACCOUNT, application__consumer=user_id, html__isnull=False)
    for notice in notices.order_by("pk").iterator(chunk_size=CHUNK_ROWS):
        page = readable(partial(getattr, notice, "html"), UNREADABLE)
        yield f"notices/{notice.pk}.html", page, models.Notice._meta.label


def rendered_agreements(user_id: int) -> Iterator[Part]:
    accepted = models.Application.objects.filter(consumer=user_id, accepted_at__isnull=False, loan_terms__isnull=False)
    for application in accepted.order_by("pk").iterator(chunk_size=CHUNK_ROWS):
        page = readable(partial(_agreement_page, application), UNREADABLE)
        yield f"agreements/{application.pk}.html", page, models.Application._meta.label


def _agreement_page(application: models.Application) -> bytes:
    return agreement_page(None, agreement_of(application)).content


def _reports(named: Any, *, is_for_partner: bool) -> Any:
    """Return the reports about the first applicant from a `consumer_report`, or None for partners."""
    if is_for_partner or named is None:
        return None
    if not isinstance(named, list):
        return named if _is_first(named) else None
    return [report for report in named if _is_first(report)]


def _is_first(report: Any) -> bool:
    return not isinstance(report, dict) or report.get("applicant", FIRST) == FIRST


def _application(row: models.Application, *, is_for_partner: bool) -> dict[str, Any]:  # noqa: ARG001  all functions for exports have this signature
    try:
        return {"applicants": row.applicants and row.applicants.persons[:FIRST]}
    except UnreadableSecret:
        return {}


def _partial(row: models.PartialApplicants, *, is_for_partner: bool) -> dict[str, Any]:
    try:
        return {"entered": None if is_for_partner else row.persons[:FIRST]}
    except UnreadableSecret:
        return {}


def _decision(row: models.ApplicationHistory | models.Proposal, *, is_for_partner: bool) -> dict[str, Any]:
    if not isinstance(row.metadata, dict) or "consumer_report" not in row.metadata:
        return {}
    reports = _reports(row.metadata["consumer_report"], is_for_partner=is_for_partner)
    return {"metadata": {**row.metadata, "consumer_report": reports}}


def _counteroffer(row: models.Counteroffer, *, is_for_partner: bool) -> dict[str, Any]:
    return {"consumer_report": _reports(row.consumer_report, is_for_partner=is_for_partner)}


def _score(row: models.Score, *, is_for_partner: bool) -> dict[str, Any]:  # noqa: ARG001  all functions for exports have this signature
    return {"sources": row.sources_for_applicant, **dict.fromkeys(row.RESULT)} if row.is_withheld else {}


def _facts(row: models.ScoreFacts, *, is_for_partner: bool) -> dict[str, Any]:
    hidden = (PERSON, "report.") if is_for_partner else (PERSON,)
    try:
        if not any(prefix in row.facts for prefix in hidden):
            return {}
    except UnreadableSecret:
        return {}
    own = {name: value for name, value in row.values().items() if not name.startswith(hidden)}
    return {"facts": canonical_json(own).decode()}


def _record(row: models.DecisionAnchor, *, is_for_partner: bool) -> dict[str, Any]:  # noqa: ARG001  all functions for exports have this signature
    try:
        opened = row.openings and canonical_json(without_person(json.loads(row.openings))).decode()
    except UnreadableSecret:
        return {}
    return {"openings": opened}


COPIED_VALUES = {
    "credit.Application": _application,
    "credit.PartialApplicants": _partial,
    "credit.ApplicationHistory": _decision,
    "credit.Proposal": _decision,
    "credit.Counteroffer": _counteroffer,
    "credit.DecisionAnchor": _record,
    "credit.Score": _score,
    "credit.ScoreFacts": _facts,
}
