"""Concurrent first requests to a new server."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from tests.system.server import exchange, gunicorn, request, status_of

AT_ONCE = 32


def test_thirty_two_concurrent_first_requests_get_the_same_openapi_document(server):
    with gunicorn(*server, threads=AT_ONCE) as port, ThreadPoolExecutor(AT_ONCE) as readers:
        gate = Barrier(AT_ONCE)

        def read(_number):
            gate.wait()
            return exchange(port, request("GET", "/v1/openapi.json"))

        answers = list(readers.map(read, range(AT_ONCE)))
    assert [status_of(answer) for answer in answers] == [200] * AT_ONCE
    assert len({answer.partition(b"\r\n\r\n")[2] for answer in answers}) == 1
