"""Run nginx with `deploy/nginx.conf`, on other ports and without privileges."""

import contextlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.processes import ROOT, free_port, listens, wait_until

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
    """Return the path of nginx, or None if nginx is not installed."""
    return shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin")


def _adapted(platforms: Sequence[int], port: int) -> str:
    """Return `deploy/nginx.conf` with these ports, and without TLS, which needs the operator's certificates."""
    text = re.sub(r"(?m)^\s*ssl_.*\n", "", (ROOT / "deploy/nginx.conf").read_text())
    for name, numbers in (("platform", platforms), ("ledger", [free_port()])):
        servers = "".join(f"    server 127.0.0.1:{item} max_fails=0;\n" for item in numbers)
        text, found = re.subn(rf"(?m)(upstream {name} \{{\n)(?:\s*server .*\n)+", rf"\g<1>{servers}", text)
        if not found:
            raise RuntimeError(f"deploy/nginx.conf: the upstream block of {name} must begin with its servers.")
    text = text.replace("    listen [::]:443 ssl;\n", "")
    listening = iter((port, free_port()))
    return re.sub(r"listen 443 ssl;", lambda _match: f"listen 127.0.0.1:{next(listening)};", text)


@contextlib.contextmanager
def nginx(*platforms: int) -> Iterator[int]:
    """Run nginx in front of platform servers on these ports; yield nginx's port. No ledger runs behind nginx."""
    port = free_port()
    with running(_adapted(platforms, port), port):
        yield port


@contextlib.contextmanager
def running(site: str, port: int) -> Iterator[None]:
    """Run nginx with this configuration until the block ends."""
    program = nginx_program()
    with tempfile.TemporaryDirectory(prefix="bench-nginx-") as folder:
        Path(folder).chmod(0o777)
        file = Path(folder, "nginx.conf")
        file.write_text(_FRAME.format(folder=folder, site=site))
        command = [str(program), "-p", folder, "-c", str(file), "-e", f"{folder}/error.log"]
        checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
        if checked.returncode:
            raise RuntimeError(f"nginx rejects deploy/nginx.conf: {checked.stderr}")
        process = subprocess.Popen(command)
        try:
            wait_until(lambda: listens(port))
            yield
        finally:
            process.terminate()
            process.wait(timeout=20)
