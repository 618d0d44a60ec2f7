"""Many first requests at once, at a server that has answered nothing yet."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from tests.system.server import exchange, gunicorn, request, status_of

AT_ONCE = 32


def test_thirty_two_first_readers_of_the_openapi_document_all_get_it(server):
    with gunicorn(*server, threads=AT_ONCE) as port, ThreadPoolExecutor(AT_ONCE) as readers:
        gate = Barrier(AT_ONCE)

        def read(_number):
            gate.wait()
            return exchange(port, request("GET", "/v1/openapi.json"))

        answers = list(readers.map(read, range(AT_ONCE)))
    assert [status_of(answer) for answer in answers] == [200] * AT_ONCE
    assert len({answer.partition(b"\r\n\r\n")[2] for answer in answers}) == 1
