"""The access log of a server, when it cannot be written."""

import contextlib
import os

import pytest

from tests.processes import run_python
from tests.system.server import environment_of, exchange, gunicorn, request, status_of


class TestServer:
    @pytest.mark.parametrize("place", ["full disk", "broken pipe", "unread pipe"])
    def test_requests_succeed_when_the_access_log_cannot_be_written(self, server, place):
        with contextlib.ExitStack() as stack:
            if place == "full disk":
                log = stack.enter_context(open("/dev/full", "wb"))  # noqa: PTH123  a device, not a file
            else:
                reader, writer = os.pipe()
                log = stack.enter_context(os.fdopen(writer, "wb", buffering=0))
                if place == "broken pipe":
                    os.close(reader)
                else:
                    stack.callback(os.close, reader)
                    fill(writer)
            with gunicorn(*server, stderr=log, ACCESS_LOG="1") as port:
                answers = [exchange(port, request("GET", "/v1/openapi.json")) for _ in range(5)]
        assert [status_of(answer) for answer in answers] == [200] * 5

    def test_requests_succeed_when_standard_error_is_closed(self, server):
        code = (
            "import os, sys, django; os.close(2); django.setup()\n"
            "from django.test import Client\n"
            "def get(): print(Client().get('/v1/openapi.json', headers={'host': 'localhost'}).status_code)\n"
            "get(); get()\nsys.stderr.close(); get(); get()\nsys.stderr = None; get(); get()\n"
        )
        env = environment_of(*server, ACCESS_LOG="1", DJANGO_SETTINGS_MODULE="config.settings")
        assert run_python(env, "-c", code).stdout.split() == ["200"] * 6


def fill(writer):
    """Fill a pipe until it is full."""
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 65_536)
    os.set_blocking(writer, True)
