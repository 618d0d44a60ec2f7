"""Update the pictures of README.md and docs/ from a new demo: `python -m tests.system.pictures`."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

import requests
from playwright.sync_api import sync_playwright

from config.ops import demo_ids
from tests.processes import PATIENCE_SECONDS, ROOT, free_port, wait_until
from tests.system.conftest import CHROMIUM, CHROMIUM_ARGUMENTS

FOLDER = ROOT / "docs" / "pictures"
BYTES_MAX = 200_000
# Prints the ID of the application with a note that mentions the demo's staff.
_CASE = """
from config.core.casework import Note
print(Note.objects.filter(mentioned__is_superuser=True).earliest("id").record_id)
"""
_ANCHORED = 100  # the number of entries that the explorer shows


def main():
    """Start the demo, store pictures of its pages, and stop the demo."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        ports = {name: str(free_port()) for name in ("PORT", "LEDGER_PORT", "METRICS_PORT")}
        environment = {**os.environ, **ports, "VAR_DIR": folder}
        supervisor = subprocess.Popen([sys.executable, "-m", "config.ops.supervisor"], cwd=ROOT, env=environment)
        try:
            platform, ledger = (f"http://127.0.0.1:{ports[name]}" for name in ("PORT", "LEDGER_PORT"))
            wait_until(lambda: entries_of(ledger, supervisor) >= _ANCHORED, seconds=900)
            demo = json.loads((Path(folder) / "demo.json").read_text())
            shell = [sys.executable, "manage.py", "shell", "--no-imports", "-v0", "-c", _CASE]
            case = subprocess.run(shell, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout
            take_pictures(platform, ledger, demo, case.strip())
        finally:
            supervisor.send_signal(signal.SIGINT)
            supervisor.wait()


def entries_of(ledger, supervisor):
    """Return the number of entries in the demo's ledger, or 0 while it starts."""
    if supervisor.poll() is not None:
        raise SystemExit("The demo did not start; see its output above.")
    try:
        return requests.get(f"{ledger}/stats", timeout=60).json().get("total_hashes", 0)
    except requests.ConnectionError:
        return 0


def take_pictures(platform, ledger, demo, case):
    """Take each picture when its page shows a given element."""
    staff, applicant = (demo["staff_username"], demo["staff_password"]), (demo["username"], demo["password"])
    case = f"{platform}/admin/credit/application/{case}/change/"
    report = sha256(demo_ids.REPORTS[0]["report_data"].encode()).hexdigest()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=CHROMIUM_ARGUMENTS)
        for name, address, log_in, width, height, scheme, selector in (
            ("landing", f"{platform}/admin/", staff, 1280, 980, "light", "svg.chart"),
            ("case", case, staff, 1280, 860, "light", "h1"),
            ("case-dark", case, staff, 1280, 860, "dark", "h1"),
            ("my", f"{platform}/my", applicant, 760, 760, "light", "h1"),
            ("explorer", f"{ledger}/?hash={report}", None, 1000, 900, "light", "#verdict time"),
            (
                "reference",
                f"{platform}/v1/docs/applications#applications_create",
                None,
                1280,
                720,
                "light",
                "#applications_create .samples",
            ),
        ):
            window = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
            )
            window.set_default_timeout(1_000 * PATIENCE_SECONDS)
            page = window.new_page()
            page.goto(address)
            if log_in is not None:
                page.fill("#id_login", log_in[0])
                page.fill("#id_password", log_in[1])
                with page.expect_navigation():
                    page.click("button.primary")
                page.goto(address)
            page.wait_for_selector(selector)
            page.wait_for_load_state("networkidle")
            picture = page.screenshot()
            if len(picture) > BYTES_MAX:
                raise SystemExit(
                    f"{name}.png has {len(picture)} bytes. The maximum is {BYTES_MAX}: reduce its content."
                )
            (FOLDER / f"{name}.png").write_bytes(picture)
            window.close()
        browser.close()


if __name__ == "__main__":
    main()
