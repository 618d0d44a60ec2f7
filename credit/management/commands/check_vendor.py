from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from config.core.adapters import load_adapter
from config.ops.commands import JsonCommand
from credit.reports.checking import check_vendor


class Command(JsonCommand):
    help = (
        "Check an adapter for a vendor of reports against the vendor's sandbox. The command makes about 40 calls, and "
        "prints a line for each."
    )
    fault = "{failed} checks failed."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("adapter", help="The adapter's class, as package.module:Class.")

    def run(self, **options: Any) -> dict[str, Any]:
        adapter = options["adapter"]
        try:
            vendor = load_adapter(adapter)
        except (ImportError, ValueError) as error:
            raise CommandError(f"{adapter} can't be loaded: {error}") from error
        counts = {"passed": 0, "failed": 0}
        for what, fault in check_vendor(vendor):
            counts["failed" if fault else "passed"] += 1
            self.note(f"FAIL {what}: {fault}" if fault else f"ok   {what}", fault=bool(fault))
        return counts
