from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from config.core.errors import ApiError
from config.core.ids import first_or
from config.core.json_bodies import parse_json
from config.ops.commands import JsonCommand
from credit.api.scoring.views import DEFINITION_MEMBERS_MAX
from credit.core.reasons import OTHER, REASONS, Reason
from credit.models.scoring import ScoringModel
from credit.scoring import optbinning
from credit.scoring.versions import add_version
from identity.access.accounts import find_user

_OUTCOMES = ("approve", "refer")
_HALF_EVEN = "half-even"
_POINTS_MAX = 1_000_000_000
_BYTES_MAX = 4_194_304


def _pair(text: str) -> tuple[str, str]:
    """Parse NAME=VALUE, as the `type` of an argument. NAME can contain `=`, but VALUE can't."""
    name, sign, value = text.rpartition("=")
    if not sign or not name or not value:
        raise ArgumentTypeError(f"{text[:60]!r} is not NAME=VALUE")
    return name, value


def printable(text: str) -> str:
    """Require printable text, because undecodable bytes become surrogates, which can't be stored."""
    if not text.isprintable():
        raise ArgumentTypeError(f"{text[:60]!r} must contain only printable characters")
    return text


def points(text: str) -> int:
    if not text.removeprefix("-").isdecimal() or len(text) > 10 or abs(int(text)) > _POINTS_MAX:
        raise ArgumentTypeError(f"{text[:60]!r} is not a number of points")
    return int(text)


def outcome(text: str) -> tuple[str, int]:
    name, value = _pair(text)
    if name not in _OUTCOMES:
        raise ArgumentTypeError(f"{name[:60]!r} must be one of {', '.join(_OUTCOMES)}; lower totals are declined")
    return name, points(value)


def reason(text: str) -> tuple[str, Reason]:
    name, value = _pair(text)
    if value in REASONS:
        return name, value
    words = printable(value.removeprefix(f"{OTHER}:").strip())
    if words == value.strip() or not words:
        raise ArgumentTypeError(f"{value[:60]!r} must be a principal reason: {', '.join(REASONS)}, or {OTHER}:WORDS")
    return name, {"code": OTHER, "text": words}


class Command(JsonCommand):
    help = (
        "Create the next version of a scoring model as a draft. The file is the CSV of optbinning's "
        "Scorecard.table(), or the JSON of a definition. A definition needs no further options."
    )

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--model", type=int, required=True, help="The scoring model's id.")
        parser.add_argument("--user", help="The version's author. Default: the owner of the model's lender.")
        parser.add_argument("--note", type=printable, default="")
        parser.add_argument(
            "--outcome", type=outcome, action="append", default=[], metavar="approve=640",
            help="The lowest total of an outcome, approve or refer. Repeatable. Lower totals are declined.",
        )  # fmt: skip
        parser.add_argument(
            "--from", type=_pair, action="append", default=[], dest="facts", metavar="NAME=FACT",
            help="The fact of a variable. Default: application_data.NAME. Repeatable.",
        )  # fmt: skip
        parser.add_argument(
            "--reason", type=reason, action="append", default=[], metavar="NAME=CODE",
            help="The reason if a variable loses points: a code, or other:WORDS. Repeatable.",
        )  # fmt: skip
        parser.add_argument(
            "--round", choices=sorted(optbinning.ROUNDINGS),
            help=f"How optbinning's points become integers, without it {_HALF_EVEN}.",
        )  # fmt: skip
        parser.add_argument("--base-points", type=points, help="The `intercept_` of an optbinning scorecard.")

    def run(self, **options: Any) -> dict[str, Any]:
        model = first_or(
            ScoringModel.objects.filter(pk=options["model"]).select_related("provider__owner"),
            CommandError(f"Scoring model {options['model']} not found."),
        )
        maker = model.provider.owner if options["user"] is None else find_user(options["user"])
        document = _read(options["file"])
        try:
            definition, off_by = _definition(document, options)
            version = add_version(model, definition=definition, note=options["note"], made_by=maker, now=timezone.now())
        except ApiError as refusal:
            details = refusal.details if isinstance(refusal.details, list) else []
            lines = [f"{detail['field']}: {detail['message']}" for detail in details]
            raise CommandError("\n".join(lines or [f"{options['file']}: {refusal}"])) from refusal
        return {
            "model": model.pk,
            "version": version.number,
            "definition_sha256": version.definition_sha256,
            "characteristics": len(definition["characteristics"]),
            "total_off_by_at_most": off_by,
        }


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            content = opened.read(_BYTES_MAX + 1)
    except OSError as error:
        raise CommandError(f"Cannot read {file}: {error.strerror}.") from error
    if len(content) > _BYTES_MAX:
        raise CommandError(f"{file} is larger than {_BYTES_MAX} bytes.")
    return content


def _definition(document: bytes, options: dict[str, Any]) -> tuple[dict[str, Any], str]:
    if document.lstrip()[:1] == b"{":
        options_given = [options[name] for name in ("outcome", "facts", "reason", "round")]
        if any(options_given) or options["base_points"] is not None:
            raise CommandError("A definition allows no other option than --note.")
        return parse_json(document, members_max=DEFINITION_MEMBERS_MAX), "0"
    outcomes = sorted(options["outcome"], key=lambda band: -band[1])
    terms = optbinning.Terms(outcomes, facts=dict(options["facts"]), reasons=dict(options["reason"]))
    rounding = optbinning.ROUNDINGS[options["round"] or _HALF_EVEN]
    definition = optbinning.read(document, terms, rounding=rounding, base_points=options["base_points"] or 0)
    return definition, str(optbinning.off_by_at_most(definition, rounding))
