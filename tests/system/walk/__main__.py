"""Run the end-to-end test, and print its steps. The exit status is 1 if a step fails."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.processes import free_port
from tests.system.walk import commands, ledger, platform
from tests.system.walk.service import Service, WalkFailed

START_SECONDS = 300  # long, so that a slow package mirror does not fail the test
STOP_SECONDS = 120
ROOT = Path(__file__).resolve().parents[3]
_started = time.monotonic()


def report(text: str) -> None:
    """Print a line with the seconds since the start."""
    print(f"[{time.monotonic() - _started:5.1f} s] {text}", flush=True)


@contextlib.contextmanager
def make_run(root: Path, log: Path) -> Iterator[str]:
    """Start `make run`; yield its output up to the `curl`. At the end, send SIGINT like Ctrl-C, and check the log."""
    with log.open("w") as output:
        process = subprocess.Popen(
            ["make", "--no-print-directory", "run"], cwd=root, env=commands.environment() | free_ports(),
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        yield read_welcome(process, log)
    finally:
        stopping = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            raise WalkFailed(f"`make run` did not end within {STOP_SECONDS} s after Ctrl-C.") from error
        report(f"`make run` ended after Ctrl-C in {time.monotonic() - stopping:.1f} s")
    written = log.read_text()
    if not re.search(r"^[\d:]{8} platform GET /v1/applications 200 in [\d.]+ ms by api_key:", written, re.MULTILINE):
        raise WalkFailed("`make run` does not print requests.")
    if "Traceback" in written:
        raise WalkFailed(f"The services printed a traceback:\n{written[-5000:]}")


def free_ports() -> dict[str, str]:
    """Return the port variables of `make run`, with free ports."""
    return {name: str(free_port()) for name in ("PORT", "LEDGER_PORT", "METRICS_PORT")}


def read_welcome(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Print the output of `make run` up to its `curl`; return the output."""
    deadline, printed = time.monotonic() + START_SECONDS, ""
    while time.monotonic() < deadline:
        has_ended = process.poll() is not None
        new = log.read_text()[len(printed) :]
        printed += new
        print(new, end="", flush=True)
        if re.search(r"^ *curl .*\n", printed, re.MULTILINE):
            return printed
        if has_ended:
            raise WalkFailed(f"`make run` ended with {process.returncode}.")
        time.sleep(0.05)
    raise WalkFailed(f"`make run` printed no curl within {START_SECONDS} s.")


def paste(printed: str) -> None:
    """Run the printed `curl` unchanged; it lists the demo's applications."""
    line = next(line for line in printed.splitlines() if line.strip().startswith("curl "))
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=STOP_SECONDS, check=False)
    if done.returncode or not done.stdout.startswith("[{"):
        raise WalkFailed(f"{line.strip()}\nended with {done.returncode}: {done.stdout[:500]}{done.stderr}")


def find(pattern: str, printed: str) -> str:
    """Return the first group of a pattern in the output. Raises WalkFailed if the pattern does not match."""
    match = re.search(pattern, printed)
    if match is None:
        raise WalkFailed(f"`make run` does not print {pattern}.")
    return match[1]


def follow(root: Path, page: str) -> int:
    """Run the blocks of a documentation page in a single shell; return their number."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (root / "docs" / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    script = "\n".join(blocks)
    command = ["bash", "-euo", "pipefail", "-c", script]
    pasted = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if pasted.returncode:
        raise WalkFailed(f"docs/{page} ends with status {pasted.returncode}: {pasted.stdout}{pasted.stderr}")
    return len(blocks)


def wait_for_documentation(address: str) -> None:
    """Wait until `make run` has built the documentation in the background."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            urllib.request.urlopen(address, timeout=STOP_SECONDS).close()
        except urllib.error.HTTPError as error:
            if error.code != 503 or time.monotonic() > deadline:
                raise WalkFailed(f"{address} returns {error.code}.") from error
            time.sleep(1)
        else:
            return


def walk(root: Path, folder: Path) -> None:
    """Run all steps in a new clone; `folder` is for temporary files."""
    starting = time.monotonic()
    with make_run(root, folder / "log") as printed:
        report(f"`make run` is ready after {time.monotonic() - starting:.1f} s")
        find("Both services respond: (.+) Creating demo data", printed)
        paste(printed)
        report("The printed curl command succeeds")
        account = re.search(r"Demo account (\S+) \(user (\d+)\), password (\S+)", printed)
        if account is None:
            raise WalkFailed("`make run` does not print the demo account.")
        demo = dict(zip(("username", "user_id", "password"), account.groups(), strict=True))
        key = {"X-API-Key": find(r"X-API-Key: ([^']+)", printed)}
        service = Service(find(r"API +(\S+)/v1", printed), "/v1/openapi.json", key)
        log = Service(find(r"Ledger +(\S+)/\n", printed), "/openapi.json", {})
        called = commands.Commands(root, {"BASE_URL": f"{service.root}/v1", "CHAIN_URL": log.root})
        # These calls need other accounts. They are first, so that the examples use the demo's account.
        platform.advance_clock(service, commands.key_of_new_account(called, "newcomer"))
        platform.hold(service, commands.key_of_new_account(called, "operator", "--staff", "--group", "Operations"))
        endpoint, bundle = platform.walk(service, demo)
        report_hash = ledger.walk(log)
        log.call_rest()
        report(f"Every operation succeeds: {len(service.called)} of the platform, {len(log.called)} of the ledger")
        commands.walk(called, endpoint=endpoint, bundle=bundle, report_hash=report_hash, folder=folder)
        called.check_complete()
        called.stop()
        report(f"Every command succeeds: {len(called.called)}")
        for page in ("tutorial.md", "guides/scores.md", "guides/webhooks.md"):
            blocks = follow(root, page)
            report(f"The blocks of {page} succeed: {blocks}")
        wait_for_documentation(f"{service.root}/docs/")
        report("The documentation is built")
        paste(printed)


def main() -> int:
    """Run the end-to-end test; return the exit status."""
    folder = Path(tempfile.mkdtemp(prefix="credit-platform-walk-"))
    root = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(root)], check=True)
    report("Start make run in a new clone")
    try:
        walk(root, folder)
    except WalkFailed as failure:
        print(f"FAILED: {failure}", file=sys.stderr, flush=True)
        return 1
    finally:
        subprocess.Popen(["rm", "-rf", str(folder)])  # nothing waits for the removal of 30,000 files
    report("The end-to-end test passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
