"""What a request's record costs in CPU time: `python -m tests.bench.access_cost`. Log to a file, counts in a folder."""

import os
import sys
import tempfile
import time
from pathlib import Path

ROUNDS, REQUESTS = 7, 20_000


def microseconds(work):
    """Return the CPU time of one call, in microseconds, in the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(REQUESTS):
            work()
        best = min(best, time.process_time() - began)
    return best / REQUESTS * 1e6


def main():
    """Print the cost of the line, of the counts, and of both."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w") as log:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "VAR_DIR": folder, "ACCESS_LOG": "1"}
        import django

        django.setup()
        import logging

        from django.conf import settings
        from django.http import HttpRequest
        from django.urls import ResolverMatch

        from config.api import access, counters
        from config.api.credentials import Credential
        from config.api.logs import JsonLines

        logging.getLogger().handlers[0].setFormatter(JsonLines())
        request = HttpRequest()
        request.method, request.path_info = "GET", "/v1/applications/0193"
        request.resolver_match = ResolverMatch(main, (), {}, route="v1/applications/<str:application_id>")
        request.auth = Credential("api_key", "Zq3v8yLw0aBc", 7)
        began = time.perf_counter()
        record = lambda: access.record_request(request, 200, began)  # noqa: E731
        console, sys.stderr = sys.stderr, log
        try:
            figures = {"the line": microseconds(record)}
            settings.ACCESS_LOG = False
            figures["neither"] = microseconds(record)
            counters.start(counters.open_folder(Path(folder) / "metrics"), 0)
            figures["the counts"] = microseconds(record)
            settings.ACCESS_LOG = True
            figures["both"] = microseconds(record)
        finally:
            sys.stderr = console
        for name, figure in figures.items():
            print(f"{name:12} {figure:6.1f} µs")


if __name__ == "__main__":
    main()
