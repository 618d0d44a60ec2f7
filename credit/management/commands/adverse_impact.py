import csv
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from config.core.ids import first_or, parse_uuid
from config.ops.commands import JsonCommand
from credit.models.scoring import ScoringModel
from credit.scoring.fairness import FOUR_FIFTHS, adverse_impact

NOTICE = "This is monitoring of outcomes. It is not a finding of law, and says nothing about why rates differ."


class Command(JsonCommand):
    help = "Compare how often groups of people are approved by a model's scores."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", type=int, help="The model's id.")
        parser.add_argument(
            "--groups",
            required=True,
            metavar="FILE",
            help="CSV with the columns application_id and group. It is read into memory and kept nowhere.",
        )

    def run(self, **options: Any) -> dict[str, Any]:
        model = first_or(
            ScoringModel.objects.filter(pk=options["model"]),
            CommandError(f"There is no scoring model {options['model']}."),
        )
        rows = adverse_impact(model, _read(options["groups"]))
        if not options["as_json"]:
            for row in rows:
                self.stdout.write(_line(row))
            return {"notice": NOTICE}
        return {"model_id": model.pk, "groups": rows, "notice": NOTICE}


def _read(path: str) -> dict[UUID, str]:
    """Return the group of each application; raises CommandError, which names the line."""
    groups: dict[UUID, str] = {}
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:  # noqa: PTH123  may be a pipe
            reader = csv.DictReader(file)
            if not {"application_id", "group"} <= set(reader.fieldnames or ()):
                raise CommandError("The first line must name the columns application_id and group.")
            for row in reader:
                identifier, group = parse_uuid(row["application_id"] or ""), (row["group"] or "").strip()
                if identifier is None or not group:
                    raise CommandError(f"Line {reader.line_num} has no application id, or no group.")
                if groups.setdefault(identifier, group) != group:
                    raise CommandError(f"Line {reader.line_num} puts an application into a second group.")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"Cannot read {path}: {error}") from error
    return groups


def _line(row: dict[str, Any]) -> str:
    rate = f"{row['group']}: {row['approved']} of {row['scored']} approved ({row['rate']:.1%})"
    if row["ratio"] is None:
        return rate
    interval = "" if row["ratio_low"] is None else f", 95 % from {row['ratio_low']:.2f} to {row['ratio_high']:.2f}"
    below = "; below four fifths" if row["ratio"] < FOUR_FIFTHS else ""
    return f"{rate}, ratio {row['ratio']:.2f}{interval}{below}"
