from argparse import ArgumentParser
from typing import Any

from config.core.privacy import record_of_processing
from config.ops.commands import JsonCommand


class Command(JsonCommand):
    help = "Print every field with personal data: subject, purpose, ground, and retention (GDPR Article 30)."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--all", action="store_true", dest="with_all", help="Every field of every table.")

    def run(self, **options: Any) -> dict[str, Any]:
        fields = list(record_of_processing(with_all=options["with_all"]))
        if options["as_json"]:
            return {"fields": fields}
        for field in fields:
            self.stdout.write("; ".join(f"{name} {value}" for name, value in field.items() if value))
        return {"fields": len(fields)}
