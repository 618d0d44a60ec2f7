import os
import sys
from argparse import ArgumentParser
from collections import Counter
from typing import Any

from config.ops import checks
from config.ops.commands import JsonCommand


class Command(JsonCommand):
    help = (
        "Check keys, migrations, database, clock, Redis, and settings. Read-only. The exit status of a failure is 78."
    )

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--at-start", action="store_true", help="Run only the checks that a server requires to start."
        )

    def handle(self, *arguments: Any, **options: Any) -> None:
        self._ok = True
        super().handle(*arguments, **options)
        if not self._ok:
            sys.exit(os.EX_CONFIG)

    def run(self, **options: Any) -> dict[str, Any]:
        if options["at_start"]:
            checks.require_at_start()
            return {"ok": True}
        all_checks = checks.examine()
        self._ok = all(item["ok"] for item in all_checks)
        if options["as_json"]:
            return {"ok": self._ok, "checks": all_checks}
        counts = Counter(_mark_of(check) for check in all_checks)
        summary = f"{counts['ok  ']} ok, {counts['warn']} warnings, {counts['FAIL']} failed"
        return {f"{_mark_of(item)} {item['name']}": item["why"] for item in all_checks} | {"doctor": summary}


def _mark_of(check: dict[str, Any]) -> str:
    if not check["ok"]:
        return "FAIL"
    return "warn" if check["why"].startswith("warning: ") else "ok  "
