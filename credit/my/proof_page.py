"""The page of the inclusion proofs of an application's decisions and acceptances, with downloads."""

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext

from config.core.ids import get_by_uuid
from credit.core import deadlines
from credit.core.figures import reference_of
from credit.core.standing import of_status
from credit.models import Application, DecisionAnchor
from credit.my.pages import MyPage, own_applications

RECORD, PROOF = "record", "proof"


def anchors_of(application: Application) -> Any:
    """Return the ledger records of decisions and acceptances, oldest first. Other records have their own pages."""
    anchors = application.anchors.filter(notice=None, withdrawal=None)
    return anchors.select_related("history", "acceptance").order_by("id")


class ProofPage(MyPage):
    def get(self, request: HttpRequest, application_id: str) -> HttpResponse:
        application = get_by_uuid(own_applications(request), application_id, Http404)
        anchors = list(anchors_of(application))
        if not anchors:
            raise Http404
        zone = timezone.get_current_timezone_name()
        context = {
            "application": application,
            "reference": reference_of(application.pk),
            "proofs": [_described(anchor, zone) for anchor in anchors],
            "ledger": settings.CHAIN_URL,
        }
        return render(request, "credit/my/proof.html", context)


def _described(anchor: DecisionAnchor, zone: str) -> dict[str, Any]:
    event: Any = anchor.acceptance if anchor.history is None else anchor.history
    title = gettext("Approved and accepted") if anchor.history is None else str(of_status(event.status).words)
    at = event.accepted_at if anchor.history is None else event.changed_at
    return {
        "id": anchor.pk,
        "title": title,
        "at": deadlines.in_words(at, zone),
        "sha256": anchor.record_sha256,
        "anchored_at": anchor.anchored_at and deadlines.in_words(anchor.anchored_at, zone),
        "has_proof": bool(anchor.proof_file),
    }


class ProofFile(MyPage):
    """Download the record of a decision, or its proof file.

    The bytes are exactly those that the ledger's hash covers.
    """

    def get(self, request: HttpRequest, application_id: str, anchor_id: str, kind: str) -> HttpResponse:
        application = get_by_uuid(own_applications(request), application_id, Http404)
        anchor = get_by_uuid(anchors_of(application), anchor_id, Http404)
        text = anchor.record if kind == RECORD else anchor.proof_file
        if not text:
            raise Http404
        name = f"{anchor.record_sha256}.{'json' if kind == RECORD else 'tlog-proof'}"
        media_type = "application/json" if kind == RECORD else "text/plain; charset=utf-8"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
        return HttpResponse(text, content_type=media_type, headers=headers)
