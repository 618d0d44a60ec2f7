from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from config.core.adapters import load_adapter
from config.ops.commands import JsonCommand
from credit.reports.checking import check_vendor
from identity.bank.checking import check_open_banking


class Command(JsonCommand):
    help = (
        "Check an adapter for a vendor of reports or of open banking against the vendor's sandbox. The command prints "
        "a line for each call."
    )
    fault = "{failed} checks failed."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("adapter", help="The adapter's class, as package.module:Class.")
        parser.add_argument("--public-token", help="A public token of the sandbox, for an adapter of open banking.")

    def run(self, **options: Any) -> dict[str, Any]:
        adapter = options["adapter"]
        try:
            vendor = load_adapter(adapter)
        except Exception as error:
            raise CommandError(f"{adapter} can't be loaded: {type(error).__name__}: {error}") from error
        token, is_bank = options["public_token"], hasattr(vendor, "list_accounts")
        if is_bank != (token is not None):
            raise CommandError("--public-token is required for an adapter of open banking, and for no other.")
        counts = {"passed": 0, "failed": 0}
        for what, fault in check_open_banking(vendor, token) if is_bank else check_vendor(vendor):
            counts["failed" if fault else "passed"] += 1
            self.note(f"FAIL {what}: {fault}" if fault else f"ok   {what}", fault=bool(fault))
        return counts
