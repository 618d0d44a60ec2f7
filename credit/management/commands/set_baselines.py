from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from config.core.ids import first_or
from config.ops.commands import JsonCommand
from credit.models.scoring import ModelVersion
from credit.scoring.baselines import METHODS, NoScores, with_baselines
from credit.scoring.versions import add_version
from identity.models import User


class Command(JsonCommand):
    help = "Make the next version of a model, a draft, with baselines taken from past scores."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", type=int, help="The model's id.")
        parser.add_argument(
            "--method",
            choices=METHODS,
            required=True,
            help="cutoff: the averages of those just approved; all: of everybody; best: the most points there are.",
        )
        parser.add_argument("--number", type=int, help="The version whose scores count. Default: the champion.")
        parser.add_argument("--within", type=int, default=20, help="How far above the cutoff counts as just approved.")
        parser.add_argument("--user", required=True, help="The user name of the account that makes the version.")

    def run(self, **options: Any) -> dict[str, Any]:
        versions = ModelVersion.objects.filter(model=options["model"]).select_related("model")
        number = options["number"]
        version = versions.filter(**({"role": "champion"} if number is None else {"number": number})).first()
        if version is None:
            which = "champion" if number is None else f"version {number}"
            raise CommandError(f"Model {options['model']} has no {which}.")
        maker = first_or(
            User.objects.filter(username=options["user"]), CommandError(f"There is no user {options['user']}.")
        )
        try:
            definition = with_baselines(version, method=options["method"], within=options["within"])
        except NoScores as error:
            raise CommandError(str(error)) from error
        note = f"Baselines of version {version.number} by the method {options['method']}."
        made = add_version(version.model, definition=definition, note=note, made_by=maker, now=timezone.now())
        baselines = {one["name"]: one["baseline"] for one in definition["characteristics"]}
        return {"model_id": made.model_id, "version": made.number, "baselines": baselines}
