from typing import Any

from django.core.management.commands.makemigrations import Command as MakeMigrations
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.state import ProjectState


class Autodetector(MigrationAutodetector):
    """Ignores `help_text`, which does not affect tables."""

    def __init__(self, from_state: ProjectState, to_state: ProjectState, questioner: Any = None) -> None:
        for state in (from_state, to_state):
            for model in state.models.values():
                for field in model.fields.values():
                    field.help_text = ""
        super().__init__(from_state, to_state, questioner)


class Command(MakeMigrations):
    """Write migrations for changes of tables, and ignore a changed `help_text`."""

    autodetector = Autodetector
