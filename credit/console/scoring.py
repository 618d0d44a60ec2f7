"""The admin of scoring models and versions, with pages to compare, try, publish, and retire a version.

The definition of a version can't be edited. To change it, create the next version with the API.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString

from config.backoffice.bases import RecordAction
from config.backoffice.consoles import console_of, may
from config.backoffice.html import NOTHING, chip, code, column, moment, record_link
from config.backoffice.people import person_name
from config.backoffice.records import NamedRecords
from config.backoffice.timeline import TimelineEntry, history_entries, latest_first
from config.backoffice.transitions import actor_of
from config.core.casework import DataAccess
from config.core.ids import parse_positive_int64, parse_uuid
from config.core.lifecycle import Actor
from credit.console import score_words as words
from credit.console.score_panel import PointRow, Scale, point_rows, result_of
from credit.console.timeline import anchor_entries
from credit.core.facts import gather
from credit.core.figures import end_of_id, reference_of
from credit.core.reasons import text_of
from credit.models import Application, Provider
from credit.models.applications import REVIEW_PERMISSION
from credit.models.scoring import CHALLENGER, CHAMPION, PUBLISH, PUBLISHED, RETIRED, ModelVersion, ScoringModel
from credit.requirements.services import warnings_of
from credit.scoring import versions
from credit.scoring.changes import changes
from credit.scoring.evaluator import evaluate
from credit.scoring.facts_of import about_application

VERSIONS_SHOWN = 200  # a model's page lists at most this many versions


def _lender_link(lender: Provider) -> SafeString | str:
    return record_link("credit_provider", lender.pk, f"{lender.name} ({lender.pk})" if lender.name else lender.pk)


@admin.register(ScoringModel)
class ScoringModelAdmin(NamedRecords):
    list_title = "Scorecards"
    change_form_template = "credit/backoffice_model.html"
    list_display = ("name", "id", "provider_link", "champion", "version_count", "created")
    list_select_related = ("provider",)
    search_fields = ("=id", "=provider__id")
    search_help_text = "Words of a model's name, its id, or a lender's id"
    ordering = ("-id",)
    export_columns = ("id", "provider_id", "name", "description", "created_by_id", "created_at")
    fields = ("id", "name", "description", "provider_link", "champion", "created_by", "created")

    created = column(moment, "created_at", "created", ordering="id")
    provider_link = column(_lender_link, "provider", "lender", ordering="provider")
    version_count = column(str, "counted", "versions")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        versions = ModelVersion.objects.filter(model=OuterRef("pk")).order_by()
        champions = versions.filter(role=CHAMPION, status=PUBLISHED)
        counted = versions.values("model").annotate(number_of=Count("*")).values("number_of")
        rows: QuerySet[ScoringModel] = super().get_queryset(request)
        return rows.annotate(
            champion_id=Subquery(champions.values("pk")[:1]),
            champion_number=Subquery(champions.values("number")[:1]),
            counted=Coalesce(Subquery(counted), 0),
        )

    def page_of(self, request: HttpRequest, record: ScoringModel) -> dict[str, Any]:
        kept = record.versions.select_related("made_by", "published_by").defer("definition").order_by("-number")
        return {
            **super().page_of(request, record),
            "title": record.name,
            "versions": kept[:VERSIONS_SHOWN],
        }

    @admin.display(description="champion")
    def champion(self, record: Any) -> SafeString | str:
        if record.champion_id is None:
            return NOTHING
        return record_link("credit_modelversion", record.champion_id, f"version {record.champion_number}")


class TryForm(forms.Form):
    application = forms.CharField(
        max_length=60, label="Application", help_text="A reference such as A-3F9C21AB, or an id."
    )


@admin.register(ModelVersion)
class ModelVersionAdmin(NamedRecords):
    change_form_template = "credit/backoffice_version.html"
    list_display = ("version", "status_chip", "role_chip", "provider_link", "made_by", "published", "published_by")
    list_filter = ("status",)
    list_select_related = ("model__provider", "made_by", "published_by")
    list_defer = ("definition",)
    name_field = "model__name"
    search_fields = ("=model__id",)
    search_help_text = "Words of a model's name, or its id"
    ordering = ("-id",)
    export_columns = (
        "id", "model_id", "number", "status", "role", "note", "definition_sha256", "made_by_id", "created_at",
        "published_by_id", "published_at",
    )  # fmt: skip
    fields = (
        "model_link", "provider_link", "status_chip", "role_chip", "note", "made_by", "created", "published",
        "published_by", "sha256",
    )  # fmt: skip

    provider_link = column(_lender_link, "model.provider", "lender")
    version = column(str, "title", "version", ordering="id")
    list_title = "Versions of scorecards"
    created = column(moment, "created_at", "created")
    published = column(moment, "published_at", "published")
    status_chip = column(chip, "status", "status", ordering="status")
    role_chip = column(lambda role: chip(role) if role else NOTHING, "role", "role")
    sha256 = column(code, "definition_sha256", "SHA-256 of the definition")
    model_link = column(lambda model: record_link("credit_scoringmodel", model.pk, model.name), "model", "model")

    def get_urls(self) -> list[Any]:
        return [
            self.record_path("difference/", self.difference_view, "difference"),
            self.record_path("try/", self.try_view, "try"),
            *super().get_urls(),
        ]

    def page_of(self, request: HttpRequest, record: ModelVersion) -> dict[str, Any]:
        others = record.model.versions.exclude(pk=record.pk).defer("definition").order_by("-number")
        return {
            **super().page_of(request, record),
            "title": record.title,
            "chip": chip(record.role or record.status),
            "timeline": latest_first(_history_entries(record)),
            **card_page(record),
            "others": list(others[:VERSIONS_SHOWN]),
            "difference_address": self.address_of("difference", record.pk),
            "try_address": self.address_of("try", record.pk) if may(request.user, REVIEW_PERMISSION) else "",
        }

    def difference_view(self, request: HttpRequest, record: ModelVersion) -> HttpResponse:
        """Show the differences from another version of the model.

        The query parameter `with` has the number of that version.
        """
        number = parse_positive_int64(request.GET.get("with", ""))
        earlier, later = record, record.model.versions.filter(number=number).first() if number else None
        if later is not None and later.number < earlier.number:
            earlier, later = later, earlier
        others = record.model.versions.exclude(pk=record.pk).order_by("-number")
        page = {
            "title": f"Difference: {record.title}",
            "label": "Difference",
            "record_name": record.title,
            "numbers": list(others.values_list("number", flat=True)[:VERSIONS_SHOWN]),
            "chosen": number,
            "earlier": earlier,
            "later": later,
            "differences": later and words.differences(earlier.definition, later.definition),
        }
        return self.draw(request, "credit/backoffice_difference.html", record, **page)

    def try_view(self, request: HttpRequest, record: ModelVersion) -> HttpResponse:
        """Score an application with this version without storing the result (POST). The access is logged."""
        if not may(request.user, REVIEW_PERMISSION):
            raise PermissionDenied
        form = TryForm(request.POST if request.method == "POST" else None)
        page: dict[str, Any] = {"title": f"Try it: {record.title}", "label": "Try it", "record_name": record.title}
        if form.is_valid():
            try:
                application = self.find_application(request, form.cleaned_data["application"])
            except forms.ValidationError as error:
                form.add_error("application", error)
            else:
                looked = {"scoring_model": record.model_id, "version": record.number}
                applications: Any = self.admin_site.get_model_admin(Application)
                applications.note(request, DataAccess.PAGE, application, details=looked)
                page["tried"] = try_result(record, application)
        return self.draw(request, "credit/backoffice_try.html", record, form=form, **page)

    def find_application(self, request: HttpRequest, term: str) -> Application:
        """Find the application with this ID or reference. Raises ValidationError if the user can't review it."""
        applications: Any = self.admin_site.get_model_admin(Application)
        if not applications.has_view_permission(request):
            raise PermissionDenied
        candidates: list[Application] = []
        if identifier := parse_uuid(term.lower()):
            candidates = list(applications.get_queryset(request).filter(pk=identifier))
        elif end := end_of_id(term):
            candidates = list(applications.get_queryset(request).filter(Application.has_reference(end))[:2])
        else:
            raise forms.ValidationError("Enter a reference such as A-3F9C21AB, or a complete ID.")
        if len(candidates) > 1:
            raise forms.ValidationError("More than one application has this reference. Enter the complete ID.")
        if not candidates or not candidates[0].is_reviewed_by(request.user):
            raise forms.ValidationError("You can review no application with this reference or ID.")
        return candidates[0]

    def actions_of(self, request: HttpRequest, record: ModelVersion) -> list[RecordAction]:
        return [*super().actions_of(request, record), *publishing_actions(request, record)]


def _history_entries(version: ModelVersion) -> Iterable[TimelineEntry]:
    yield TimelineEntry(at=version.created_at, title="Made", status="draft", actor=person_name(version.made_by))
    moves = list(version.history.select_related("principal", "anchor"))
    yield from history_entries(moves)
    for move in moves:
        yield from anchor_entries(getattr(move, "anchor", None), f"Publication {move.position}")


def card_page(version: ModelVersion) -> dict[str, Any]:
    definition, card = version.definition, version.card
    inputs = {item["name"]: words.input_in_words(item) for item in definition["inputs"]}
    writers, named = words.writers_of(definition), words.bins_by_characteristic(definition)
    scale = Scale.of(
        points for item in card.characteristics for points in (item.baseline, *(each.points for each in item.bins))
    )
    return {
        "card": card,
        "outcomes": [(words.verdict_of(name), totals) for name, totals in words.bands_in_words(card.outcomes)],
        "segments": words.bands_in_words(card.segments),
        "knockouts": [
            words.knockout_in_words(rule, writers[rule["input"]]) for rule in definition.get("knockouts", ())
        ],
        "inputs": inputs.items(),
        "characteristics": [
            {
                **item,
                "source": inputs[item["input"]],
                "reason": text_of(item["reason"]),
                "bins": [
                    PointRow(name, "", each["points"], item["baseline"], scale.bar(each["points"], item["baseline"]))
                    for name, each in zip(named[item["name"]], item["bins"], strict=True)
                ],
            }
            for item in definition["characteristics"]
        ],
    }


def try_result(version: ModelVersion, application: Application) -> dict[str, Any]:
    """Compute a version's result for an application's current data, without storing the result."""
    card = version.card
    facts = gather(card.facts, now=timezone.now(), **about_application(application))
    evaluation = evaluate(card, facts)
    values = {item.name: item.read(facts) for item in card.inputs}
    writers = words.writers_of(version.definition, application.shown_currency, has_currency=True)
    shown = {
        item.name: NOTHING if values[item.input] is None else writers[item.input](values[item.input])
        for item in card.characteristics
    }
    return {
        "application": record_link("credit_application", application.pk, reference_of(application.pk)),
        **result_of(card, evaluation),
        "rows": point_rows(version.definition, evaluation.points, writers, shown),
        "changes": words.changes_in_words(version.definition, changes(card, evaluation), writers),
    }


def publishing_actions(request: HttpRequest, record: ModelVersion) -> list[RecordAction]:
    console = console_of(request.user)
    if not may(request.user, PUBLISH) or (console is not None and not console.decides_for(record.model.provider_id)):
        return []
    actor = actor_of(request)
    actions = []
    for role in (CHAMPION, CHALLENGER):
        run, refusal = partial(_publish, role=role, actor=actor), partial(_not_published, role=role, actor=actor)
        effect = partial(_publishing, role=role)
        actions.append(RecordAction(f"publish-{role}", f"Publish as {role}", PUBLISH, run, effect, refusal, _seen))

    def not_retired(version: ModelVersion) -> str:
        return str(version.check_transition(RETIRED, actor) or "")

    retire = partial(_retire, actor=actor)
    return [*actions, RecordAction("retire", "Retire", PUBLISH, retire, _retiring, not_retired, _seen)]


def _champion_of(version: ModelVersion) -> ModelVersion | None:
    return ModelVersion.objects.filter(model=version.model_id, role=CHAMPION, status=PUBLISHED).first()


def _seen(version: ModelVersion) -> str:
    """Return the state that must not change before the confirmation: the version's status, and the champion."""
    champion = _champion_of(version)
    return f"{version.status}:{version.moves}:{champion and champion.number}"


def _not_published(version: ModelVersion, *, role: str, actor: Actor) -> str:
    if (version.status, version.role) == (PUBLISHED, role):
        return f"It is published as {role}."
    return str(version.check_transition(PUBLISHED, actor) or "")


def _publish(_request: HttpRequest, version: ModelVersion, _form: Any, *, role: str, actor: Actor) -> str:
    versions.publish(version, role=role, actor=actor, now=timezone.now())
    return f"Version {version.number} is now published as {role}."


def _retire(_request: HttpRequest, version: ModelVersion, _form: Any, *, actor: Actor) -> str:
    versions.retire(version, actor=actor, now=timezone.now())
    return f"Version {version.number} is retired."


def _publishing(version: ModelVersion, *, role: str) -> list[str]:
    champion, lines = _champion_of(version), []
    if role == CHAMPION:
        lines.append(
            f"From now on, this version scores applications to offers of lender {version.model.provider_id} with "
            f"model {version.model_id}. Existing scores do not change."
        )
        if champion is not None and champion.pk != version.pk:
            lines.append(f"Version {champion.number}, the current champion, becomes a challenger.")
    else:
        lines.append("It scores each application for comparison with the champion, without an effect on decisions.")
        if champion is not None and champion.pk == version.pk:
            lines.append("The model then has no champion. It scores no applications until you publish a champion.")
    lines += warnings_of(version)
    anchored = ", and anchored in the ledger" if settings.ANCHOR_DECISIONS else ""
    return [*lines, f"The history records the publication with your name{anchored}."]


def _retiring(version: ModelVersion) -> list[str]:
    lines = ["The version scores no more applications, and can't be published again. Its scores remain."]
    if version.role == CHAMPION:
        lines.append("The model then has no champion. It scores no applications until you publish a champion.")
    return [*lines, "The history records the retirement with your name."]
