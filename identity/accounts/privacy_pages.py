"""The page for privacy rights: consents, copies of the data, erasure, and the stored data."""

from operator import itemgetter
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from allauth.core.exceptions import ReauthenticationRequired
from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.generic import TemplateView, View

from config.core.erasure import kept_rows
from config.core.errors import NotFound
from config.core.lifecycle import Actor, RecordNotEditable
from config.core.log_in import gave_second_factor
from config.core.privacy import CONSENT, CONTRACT, LEGAL_OBLIGATION, LEGITIMATE_INTEREST, Table, register, tables_of
from identity.access import consents as kinds
from identity.access.models import User
from identity.access.scopes import SCOPES
from identity.access.second_factor import require_second_factor
from identity.accounts import consents, erasure, exports
from identity.accounts.models import Erasure
from identity.accounts.privacy_views import zip_response
from identity.errors import ErasureNotPossible

_SHOWN = 50  # the page shows this number of consents, and the API lists all
KINDS = {
    kinds.BANK_LINK: _("Linked bank"),
    kinds.APP: _("App that may act for you"),
    kinds.ELECTRONIC_NOTICES: _("Notices by email and on this site"),
    kinds.LENDER_SHARING: _("Data shared with a lender"),
    kinds.CREDIT_REPORT: _("Credit report"),
}


_GROUNDS = {
    CONTRACT: _("For your account, your applications, and your loans"),
    CONSENT: _("With your consent"),
    LEGAL_OBLIGATION: _("Because a law requires it"),
    LEGITIMATE_INTEREST: _("To protect and operate the service, and for legal claims"),
}


def displayed_scope(consent: kinds.Consent) -> str:
    subject, _separator, permitted = consent.scope.rpartition(": ")
    if consent.kind == kinds.APP:
        return f"{subject}: {'; '.join(gettext(SCOPES[scope]) for scope in permitted.split() if scope in SCOPES)}"
    if consent.kind in {kinds.LENDER_SHARING, kinds.CREDIT_REPORT}:
        areas, _separator, number = permitted.partition(" to lender ")
        shared = ", ".join(gettext(area) for area in areas.split(", "))
        words = gettext("%(areas)s, to lender %(lender)s (application %(application)s)")
        named = {"lender": consent.name or number, "application": consent.application_reference}
        return words % {"areas": shared, **named}
    return consent.name or gettext(consent.scope)


_DONE = {
    "end": _("The consent has ended."),
    "export": _("You requested a copy of your data."),
    "erase": _("You requested the deletion of your account."),
    "keep": _("The deletion is canceled."),
}


def _stored_data(user_id: int) -> list[dict[str, str]]:
    """Return the personal data of an account by the privacy register, one line per ground and purpose.

    Tables without a row of the account are omitted. A line has all sources, recipients, and retentions of its tables,
    in the active language.
    """
    empty = {label for label, _table, rows in tables_of(user_id) if not rows.exists()}
    tables: dict[tuple[str, str], list[Table]] = {}
    for label, table in register().items():
        treatments = table.fields.values()
        if label not in empty and any(each.kind == "personal" and not each.is_secret for each in treatments):
            tables.setdefault((table.ground, table.purpose), []).append(table)
    names = ("purpose", "source", "recipients")
    lines = [
        {
            "ground": str(_GROUNDS[ground]),
            **{name: "; ".join(dict.fromkeys(gettext(getattr(each, name)) for each in same)) for name in names},
            "retention": _retention(same),
        }
        for (ground, _purpose), same in tables.items()
    ]
    return sorted(lines, key=itemgetter("ground", *names))


def _retention(tables: list[Table]) -> str:
    """Return the retention of tables, and of the records that remain after an erasure of the account."""
    treatments = [treatment for table in tables for treatment in table.fields.values()]
    rules = dict.fromkeys(gettext(treatment.keep.rule) for treatment in treatments if treatment.keep is not None)
    text = "; ".join(dict.fromkeys(gettext(table.retention) for table in tables))
    return gettext("%(text)s. Then: %(rules)s") % {"text": text, "rules": "; ".join(rules)} if rules else text


def _kept_records(user_id: int) -> list[dict[str, Any]]:
    """Return the number of rows that an erasure would retain now, by legal ground.

    `until` is None if the end of the retention is unknown.
    """
    treatments = (treatment for table in register().values() for treatment in table.fields.values())
    rules = {treatment.keep.ground: treatment.keep for treatment in treatments if treatment.keep is not None}
    return [
        {
            "rule": capfirst(gettext(rules[kept.ground].rule)),
            "law": (law := rules[kept.ground].law) and gettext(law),
            "rows": kept.rows,
            "until": kept.until,
        }
        for kept in kept_rows(user_id, now=timezone.now())
    ]


class _PrivacyView(LoginRequiredMixin, View):
    @property
    def actor(self) -> Actor:
        user: Any = self.request.user
        return Actor(user, "session", second_factor=gave_second_factor(self.request))


class PrivacyPage(_PrivacyView, TemplateView):
    template_name = "account/privacy.html"

    def get_context_data(self, **options: Any) -> dict[str, Any]:
        user: Any = self.request.user
        requested = erasure.show_erasure(User.objects.get(pk=user.pk))
        now = timezone.now()
        active = consents.consents_of(user).active()[:_SHOWN]
        return super().get_context_data(**options) | {
            "consents": [(consent, KINDS[consent.kind], displayed_scope(consent)) for consent in active],
            "exports": [export.as_of(now) for export in exports.exports_of(self.actor, user.pk)[:5]],
            "erasure": None if requested.status == Erasure.NONE else requested,
            "obstacles": requested.obstacles,
            "kept": _kept_records(user.pk),
            "held": _stored_data(user.pk),
        }

    def post(self, request: HttpRequest) -> HttpResponse:
        actor, now = self.actor, timezone.now()
        action, _separator, key = request.POST.get("do", "").partition(" ")
        try:
            if action == "end":
                consents.end_consent(actor, key, now=now)
            elif action == "export":
                require_second_factor(actor)
                exports.request_export(actor, actor.user.pk, now=now)
            elif action == "erase":
                erasure.request_erasure(actor, actor.user.pk, now=now)
            elif action == "keep":
                erasure.cancel_erasure(actor, actor.user.pk, now=now)
        except (ErasureNotPossible, NotFound, RecordNotEditable):
            pass  # the page shows the current state
        else:
            if action in _DONE:
                messages.success(request, _DONE[action])
        return HttpResponseRedirect(reverse("account_privacy"))


class ExportFile(_PrivacyView):
    """The download of an export."""

    def get(self, _request: HttpRequest, export_id: str) -> Any:
        require_second_factor(self.actor)
        return zip_response(self.actor, exports.load_export(self.actor, self.actor.user.pk, export_id))


_download = reauthentication_required(ExportFile.as_view())


def download_export(request: HttpRequest, export_id: str) -> HttpResponseBase:
    """Return the file of an export. If a new log-in is required first, it leads to the page with the download link.

    A download after the log-in form would leave the browser on the form.
    """
    try:
        response: HttpResponseBase = _download(request, export_id)
    except ReauthenticationRequired:
        methods = get_adapter().get_reauthentication_methods(request.user)
        if not methods:
            raise
        return redirect_to_login(f"{reverse('account_privacy')}#copy", methods[0]["url"])
    return response
