"""nginx with `deploy/nginx.conf`, on ports of its own and without privileges."""

import contextlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.processes import ROOT, free_port

_FRAME = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    keepalive_requests 1000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {site}
}}
"""


def nginx_program() -> str | None:
    """Return where nginx is, or None."""
    return shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin")


def _adapted(platforms: Sequence[int], ledgers: Sequence[int], ports: Sequence[int]) -> str:
    """Put our ports into it, and take TLS out: its certificates are the operator's."""
    text = re.sub(r"(?m)^\s*ssl_.*\n", "", (ROOT / "deploy/nginx.conf").read_text())
    for name, numbers in (("platform", platforms), ("ledger", ledgers)):
        servers = "".join(f"    server 127.0.0.1:{one} max_fails=0;\n" for one in numbers)
        text = re.sub(rf"(?m)(upstream {name} \{{\n)(?:\s*server .*\n)+", rf"\g<1>{servers}", text)
    listening = iter(ports)
    return re.sub(r"listen 443 ssl;", lambda _found: f"listen 127.0.0.1:{next(listening)};", text)


@contextlib.contextmanager
def nginx(*platforms: int) -> Iterator[int]:
    """Run nginx in front of services A on these ports; give its own."""
    with nginx_of_both(platforms, [free_port()]) as (port, _ledger):
        yield port


@contextlib.contextmanager
def nginx_of_both(platforms: Sequence[int], ledgers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Run nginx in front of services A and B on these ports; give its own, for A and for B."""
    program, ports = nginx_program(), (free_port(), free_port())
    with tempfile.TemporaryDirectory(prefix="bench-nginx-") as folder:
        Path(folder).chmod(0o777)
        file = Path(folder, "nginx.conf")
        file.write_text(_FRAME.format(folder=folder, site=_adapted(platforms, ledgers, ports)))
        command = [str(program), "-p", folder, "-c", str(file), "-e", f"{folder}/error.log"]
        checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
        if checked.returncode:
            raise SystemExit(f"nginx refuses deploy/nginx.conf: {checked.stderr}")
        process = subprocess.Popen(command)
        try:
            _wait_for(ports[0])
            yield ports
        finally:
            process.terminate()
            process.wait(timeout=20)


def _wait_for(port: int) -> None:
    """Return once somebody listens."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise SystemExit("nginx did not start")
