"""The audit stream in rsyslog, with the configuration of docs/operate/audit.md."""

import json
import shutil
import socket
import subprocess
from contextlib import closing, suppress

import pytest

from config.core import audit
from tests.config.test_audit import Lines, check_line
from tests.documents import blocks, page
from tests.processes import wait_until

LINES = 10_000
pytestmark = pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="needs rsyslogd")


@pytest.fixture
def lines(monkeypatch):
    """10,000 lines of the audit stream, of each kind in turn."""
    handler = Lines()
    monkeypatch.setattr(audit.logger, "handlers", [handler])
    audit.CHAIN.reset()
    members = {
        audit.AUTHENTICATION: {"user": audit.ocsf_user(7, "jwt:1")},
        audit.ENTITY: {"entity": audit.entity("credit.application", 5)},
        audit.GROUP: {"user": audit.ocsf_user(7), "group": {"name": "Support"}},
        audit.LIFECYCLE: {"app": {"name": "credit-platform"}},
    }
    kinds = list(audit.KINDS)
    for number in range(LINES):
        kind = kinds[number % len(kinds)]
        audit.emit_now(kind, **members[audit.KINDS[kind].class_uid])
    return handler.texts


def test_rsyslog_stores_only_the_lines_of_the_audit_log(tmp_path, lines):
    (rules,) = (block.code for block in blocks(page("operate/audit.md")) if "omfile" in block.code)
    log, socket_file = tmp_path / "audit.log", tmp_path / "log"
    configuration = tmp_path / "rsyslog.conf"
    configuration.write_text(
        f'module(load="imuxsock" SysSock.Use="off")\ninput(type="imuxsock" socket="{socket_file}")\n'
        + rules.replace("/var/log/credit-platform/audit.log", str(log))
    )
    started = ["rsyslogd", "-n", "-f", str(configuration), "-i", str(tmp_path / "pid")]
    with subprocess.Popen(started, stderr=subprocess.DEVNULL) as server:
        try:
            wait_until(socket_file.exists)
            with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as sender:
                sender.connect(str(socket_file))
                for text in lines:
                    sender.send(f"<14>Jan  1 00:00:00 gunicorn: {text}".encode())
                    sender.send(b"<14>Jan  1 00:00:00 gunicorn: GET /v1/health 200")
            with suppress(TimeoutError):
                wait_until(lambda: log.exists() and log.read_bytes().count(b"\n") >= LINES)
        finally:
            server.terminate()
    written = log.read_bytes().splitlines(keepends=True)
    assert len(written) == LINES
    (chain,) = audit.check(written)
    assert (chain.last, chain.fault) == (LINES, "")
    for text in written[: len(audit.KINDS)]:
        check_line(json.loads(text))
