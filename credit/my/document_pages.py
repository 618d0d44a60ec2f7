"""The upload of requested documents, and the page of the inclusion proofs of decisions and acceptances."""

from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.generic import View

from config.core.errors import ApiError, Unavailable, ValidationFailed
from config.core.ids import get_by_uuid
from credit.api.documents.parsers import take_one_file
from credit.api.documents.views import answer_with
from credit.core import deadlines
from credit.core.figures import reference_of
from credit.core.standing import of_status
from credit.documents.services import add_file, load_file, receive_file
from credit.models import Application, DecisionAnchor
from credit.my.pages import MyPage, actor_on, localized, own_applications, refuse, run_action


@method_decorator(csrf_exempt, name="dispatch")
class UploadPage(View):
    """Accept a file for a document. The CSRF check reads the body, so the upload limit must be set before the check."""

    def post(self, request: HttpRequest, application_id: str, document_id: str) -> HttpResponse:
        with localized(request):
            to, field = reverse("my_application", args=[application_id]), f"file-{document_id}"
            try:
                with take_one_file(request, settings.FILE_UPLOAD_MAX_BYTES):
                    return self._checked(request, application_id, document_id, to, field)
            except ApiError as refusal:
                return refuse(request, refusal, to, field)

    @method_decorator(csrf_protect)
    def _checked(
        self, request: HttpRequest, application_id: str, document_id: str, to: str, field: str
    ) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect("my")

        def upload() -> str:
            file = request.FILES.get("file")
            if file is None:
                raise ValidationFailed(gettext("Choose a file first."))
            if not file.size:
                raise ValidationFailed(gettext("The file is empty. Choose another file, or save it again."))
            # Browsers send quotation marks in a file's name as %22.
            file.name = (file.name or "").replace("%22", '"')
            actor, now = actor_on(request), timezone.now()
            received = receive_file(application_id, document_id, file, actor=actor, now=now)
            with transaction.atomic():
                add_file(application_id, document_id, received, actor=actor, now=now)
            return gettext("The file was uploaded.")

        return run_action(request, "upload", upload, to, field=field)


class FilePage(MyPage):
    """An uploaded file. The browser displays images, and downloads other files."""

    def get(self, request: HttpRequest, application_id: str, document_id: str, file_id: str) -> HttpResponse:
        get_by_uuid(own_applications(request), application_id, Http404)
        try:
            file = load_file(application_id, document_id, file_id, actor_on(request))
            return answer_with(file, as_attachment=False)
        except Unavailable as refusal:
            return refuse(request, refusal, reverse("my_application", args=[application_id]), "")


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
