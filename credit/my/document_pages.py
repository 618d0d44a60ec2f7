"""The upload of files for the requested documents of an application."""

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.generic import View

from config.core.errors import ApiError, ValidationFailed
from credit.api.documents.parsers import take_one_file
from credit.documents.services import add_file, receive_file
from credit.my.pages import actor_on, localized, refuse, run_action


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
            actor, now = actor_on(request), timezone.now()
            received = receive_file(application_id, document_id, file, actor=actor, now=now)
            with transaction.atomic():
                add_file(application_id, document_id, received, actor=actor, now=now)
            return gettext("The file was uploaded.")

        return run_action(request, "upload", upload, to, field=field)
