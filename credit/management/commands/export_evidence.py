"""Export a scoring model's rules, decisions, and notices in the format of the package `reasonsmith`."""

import json
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db.models import Exists, OuterRef

from config.core import audit
from config.core.ids import first_or, parse_positive_int64
from config.core.json_text import render_json, rfc3339
from config.ops.commands import JsonCommand
from credit.core.card import APPROVE, DECLINE, REFER
from credit.core.machine import APPROVED, COUNTEROFFER, DECIDED
from credit.core.reasons import in_words, key_of, reasons_of
from credit.core.reasons import text_of as words_of
from credit.core.rights import way_of
from credit.models import ApplicationHistory, Notice, Score
from credit.models.scoring import ModelVersion

_CHUNK = 500
_LOCAL = "local: the reasons of this decision"
_NOT_ADVERSE = "No adverse action"
_MODULE = '''"""{title}, as rules over the positions of bins (`bin_0` is the first characteristic's).

A proof over the rules is a proof over every combination of bins.
"""

from reasonsmith.adapters.rules import RulesAdapter

RULES = {rules}
VARIABLES = {variables}
CONSTRAINTS = {constraints}


def system_under_test():
    system = RulesAdapter(rules=RULES, variables=VARIABLES, constraints=CONSTRAINTS)
    system.system_domains = ("consumer-credit",)
    return system
'''


class Command(JsonCommand):
    help = "Write the rules, decisions, and notices of a scoring model's version in the format of reasonsmith."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("version", metavar="MODEL@VERSION", help="The model's id and the version's number.")
        parser.add_argument("--to", required=True, type=Path, help="The folder to create; it must not exist.")

    def run(self, **options: Any) -> dict[str, Any]:
        """Write three files that only the owner of the files can read, and record the export in the audit log."""
        model, _, number = options["version"].partition("@")
        wanted = {"model": parse_positive_int64(model) or 0, "number": parse_positive_int64(number) or 0}
        missing = CommandError(f"Version {options['version']} not found. Use MODEL@VERSION, such as 7@2.")
        version = first_or(ModelVersion.objects.filter(**wanted), missing)
        folder: Path = options["to"]
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise CommandError(f"{folder} can't be created: {error.strerror}.") from error
        (folder / "rules.py").write_text(module_of(version), encoding="utf-8")
        decisions = _write(folder / "decisions.jsonl", _decisions(version))
        notices = _write(folder / "notices.jsonl", _notices(version))
        actor = {"app_name": "command:export_evidence"}
        audit.emit("personal_data.export", actor=actor, entity=audit.entity(version._meta.label_lower, version.pk))
        return {"folder": str(folder), "decisions": decisions, "notices": notices}


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    count = 0
    with path.open("xb") as file:
        for row in rows:
            file.write(render_json(row) + b"\n")
            count += 1
    return count


def _scored(version: ModelVersion) -> Exists:
    scores = Score.objects.filter(version=version, purpose=Score.DECISION)
    return Exists(scores.filter(application=OuterRef("application")))


def _label(version: ModelVersion) -> str:
    return f"{version.model_id}@{version.number} sha256:{version.definition_sha256}"


def _decisions(version: ModelVersion) -> Iterator[dict[str, Any]]:
    """Yield a record of each decision about applications that the version scored, without the applicants' data."""
    moves = ApplicationHistory.objects.filter(_scored(version), status__in=DECIDED).select_related("application")
    for move in moves.order_by("changed_at", "pk").iterator(chunk_size=_CHUNK):
        application = move.application
        score = Score.deciding(application.pk).filter(created_at__lte=move.changed_at).first()
        if score is None or score.version_id != version.pk:
            continue
        notice = Notice.objects.filter(move=move, made_at__isnull=False).order_by("made_at").first()
        reasons = _NOT_ADVERSE if move.status == APPROVED else in_words(reasons_of(move.metadata))
        began = application.submitted_at or application.created_at
        record = {
            "timestamp": rfc3339(move.changed_at),
            "application": str(application.pk),
            "decision": move.status,
            "artifact_logs_decision_record": f"{move.status} at {rfc3339(move.changed_at)}",
            "artifact_logs_event_log": f"status change {move.position}",
            "artifact_logs_counteroffer_not_accepted": float(
                move.status == COUNTEROFFER and application.accepted_at is None
            ),
            "artifact_logs_solely_automated": way_of(move, score) == "alone",
            "artifact_logs_significant_effect": True,
            "provenance_model_version": _label(version),
            "provenance_constraint_set": f"certificate of {_label(version)}",
            "scope_statements_local_vs_global": _LOCAL,
            "scope_statements_explanation_scope": _LOCAL,
            "scope_statements_approximation_vs_guarantee": "guarantee: the scorecard is exact",
        }
        # If an approval has no notice, the applicant can read the approval immediately.
        sent = move.changed_at if move.status == APPROVED else None
        if notice is not None:
            sent = notice.delivered_at or notice.made_at
        if sent is not None:
            record["artifact_logs_notification_latency_days"] = (sent - began).days
        if reasons:
            record["artifact_logs_reason_explanation"] = reasons
        yield record


def _notices(version: ModelVersion) -> Iterator[dict[str, Any]]:
    names = ("kind", "profile", "language", "status")
    moments = ("due_at", "made_at", "delivered_at")
    rows = Notice.objects.filter(_scored(version)).order_by("created_at", "pk").defer("content", "html")
    for notice in rows.iterator(chunk_size=_CHUNK):
        times = ((name, getattr(notice, name)) for name in moments)
        yield {
            "notice": str(notice.pk),
            "application": str(notice.application_id),
            **{name: getattr(notice, name) for name in names},
            **{name: None if at is None else rfc3339(at) for name, at in times},
        }


def module_of(version: ModelVersion) -> str:
    """Return the source of a Python module for reasonsmith, with the scorecard as assignments and conditions."""
    title = f"Scorecard {version.model_id}@{version.number}"
    rules, variables, constraints = _rules(version)
    shown = (json.dumps(part, indent=4, ensure_ascii=True) for part in (rules, variables, constraints))
    return _MODULE.format(title=title, **dict(zip(("rules", "variables", "constraints"), shown, strict=True)))


def _rules(version: ModelVersion) -> tuple[list[str], dict[str, str], list[str]]:
    card = version.card
    rules: list[str] = []
    variables: dict[str, str] = {}
    constraints: list[str] = []
    total, missing = [str(card.base_points)], []
    losses: dict[str, tuple[Any, list[str]]] = {}
    for at, scored in enumerate(card.characteristics):
        variables[f"bin_{at}"], variables[f"points_{at}"] = "int", "int"
        constraints += [f"bin_{at} >= 0", f"bin_{at} <= {len(scored.bins) - 1}"]
        rules.append(_branches(f"bin_{at}", f"points_{at}", [choice.points for choice in scored.bins]))
        total.append(f"points_{at}")
        missing.append(f"bin_{at} == {scored.missing}")
        reason, terms = losses.setdefault(key_of(scored.reason), (scored.reason, []))
        terms.append(f"({scored.baseline} - points_{at})")
    rules.append(f"total = {' + '.join(total)}")
    if card.range is not None:
        low, high = card.range
        rules += [f"if total < {low}:\n    total = {low}", f"if total > {high}:\n    total = {high}"]
    rules.append(f"outcome = {json.dumps(card.outcomes[-1][0])}")
    rules += [f"if total >= {bound}:\n    outcome = {json.dumps(name)}" for name, bound in card.outcomes[-2::-1]]
    # An input that only knockouts read can be missing, and every input can have unreadable facts.
    variables |= dict.fromkeys(("is_other_missing", "is_unreadable"), "bool")
    lacking = " or ".join([*missing, "is_other_missing"])
    rules.append(f'if is_unreadable or (outcome == "{APPROVE}" and ({lacking})):\n    outcome = "{REFER}"')
    rules += ["largest = 0", 'principal_reason = ""']
    for at, (reason, terms) in enumerate(losses.values()):
        variables[f"loss_{at}"] = "int"
        words = json.dumps(words_of(reason))
        rules.append(f"loss_{at} = {' + '.join(terms)}")
        rules.append(f"if loss_{at} > largest:\n    largest = loss_{at}\n    principal_reason = {words}")
    for at, knockout in reversed(list(enumerate(card.knockouts))):
        variables[f"knockout_{at}"] = "bool"
        words = json.dumps(words_of(knockout.reason))
        rules.append(f"if knockout_{at}:\n    outcome = {json.dumps(knockout.outcome)}\n    principal_reason = {words}")
    statement = "artifact_logs_reason_explanation"
    rules += [
        f'if outcome == "{DECLINE}":\n    {statement} = principal_reason\nelse:\n    {statement} = "{_NOT_ADVERSE}"',
        'artifact_logs_right_to_reasons_disclosure = ""',
        "artifact_logs_decision_record = outcome",
        f"provenance_model_version = {json.dumps(_label(version))}",
        f"scope_statements_local_vs_global = {json.dumps(_LOCAL)}",
    ]
    # No rule reads this variable, because scorecards with a prohibited ground are rejected
    # (`credit.scoring.prohibited`).
    variables["applicant_prohibited_basis"] = "int"
    variables |= dict.fromkeys(("total", "largest"), "int")
    texts = ("outcome", "principal_reason", "artifact_logs_reason_explanation", "artifact_logs_decision_record")
    variables["artifact_logs_right_to_reasons_disclosure"] = "str"
    variables |= dict.fromkeys((*texts, "provenance_model_version", "scope_statements_local_vs_global"), "str")
    return rules, variables, constraints


def _branches(variable: str, target: str, values: list[int]) -> str:
    lines = [
        f"{'if' if at == 0 else 'elif'} {variable} == {at}:\n    {target} = {value}"
        for at, value in enumerate(values[:-1])
    ]
    return "\n".join([*lines, f"else:\n    {target} = {values[-1]}"])
