"""The measured kinds of requests: the stream of requests of each, and its goals."""

import hashlib
import hmac
import itertools
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

import orjson

from tests.bench.load import Requests
from tests.bench.seeding import APPLICATION_DATA, OFFER_ID, PROVIDER_ID, Facts

CONNECTIONS = 8
PAGE = 20
DEEP_OFFSET = 10_000

# Returns an endless stream of requests for the facts, the name of the server, and the number of the connection.
Stream = Callable[[Facts, str, int], Requests]


@dataclass(frozen=True)
class Workload:
    """A kind of request. `goals` maps each reference to the maximum ratio of our CPU time to the reference's."""

    name: str
    label: str
    stream: Stream
    goals: dict[str, float]
    status: int = 200
    # The fields of the response that differ between servers, such as IDs and times.
    own: frozenset[str] = field(default=frozenset())


def request(method: str, target: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """Build an HTTP/1.1 request."""
    lines = [f"{method} {target} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _addresses(facts: Facts, number: int) -> list[str]:
    """Return the paths of single applications, in an order that depends on the connection's number."""
    chosen = [f"/v1/applications/{identifier}" for identifier in facts.sample]
    random.Random(number).shuffle(chosen)
    return chosen


def get_one(facts: Facts, _server: str, number: int) -> Requests:
    """GET single applications from all parts of the table, with a JWT."""
    headers = _bearer(facts.reader_token)
    return itertools.cycle([request("GET", target, headers) for target in _addresses(facts, number)])


def list_at(offset: int) -> Stream:
    """GET pages at `offset`."""

    def stream(facts: Facts, _server: str, _number: int) -> Requests:
        target = f"/v1/applications?limit={PAGE}&offset={offset}"
        return itertools.repeat(request("GET", target, _bearer(facts.reader_token)))

    return stream


def post_application(facts: Facts, _server: str, _number: int) -> Requests:
    """POST applications, each with a new Idempotency-Key."""
    body = orjson.dumps(
        {
            "consumer_id": str(facts.writer_id),
            "offer_id": OFFER_ID,
            "provider_id": PROVIDER_ID,
            "application_data": orjson.loads(APPLICATION_DATA),
        }
    )
    while True:
        headers = {**_bearer(facts.writer_token), "Idempotency-Key": str(uuid4())}
        yield request("POST", "/v1/applications", headers, body)


def put_status(facts: Facts, server: str, number: int) -> Requests:
    """PUT applications from `under_review` to `pending_documents` and back."""
    headers = _bearer(facts.writer_token)
    mine = facts.moved[server][number::CONNECTIONS]
    moves = []
    for status in ("pending_documents", "under_review"):
        body = orjson.dumps({"status": status, "updated_by": "bench", "reason": "Measured.", "metadata": {"round": 1}})
        moves += [request("PUT", f"/v1/applications/{identifier}/status", headers, body) for identifier in mine]
    return itertools.cycle(moves)


def get_by_key(facts: Facts, _server: str, number: int) -> Requests:
    """GET single applications with `X-API-Key`."""
    headers = {"X-API-Key": facts.api_key}
    return itertools.cycle([request("GET", target, headers) for target in _addresses(facts, number)])


def get_signed(facts: Facts, _server: str, number: int) -> Requests:
    """GET single applications, each signed with the key's secret."""
    for target in itertools.cycle(_addresses(facts, number)):
        timestamp = str(int(time.time()))
        message = f"{timestamp}GET{target}".encode()
        headers = {
            **_bearer(facts.api_key),
            "X-Service-Timestamp": timestamp,
            "X-Service-Signature": hmac.new(facts.secret.encode(), message, hashlib.sha256).hexdigest(),
        }
        yield request("GET", target, headers)


def get_fee(facts: Facts, _server: str, number: int) -> Requests:
    """GET fee quotes of all fee tiers, which read no table."""
    headers = _bearer(facts.reader_token)
    amounts = random.Random(number).sample(range(1, 20_000_000), 500)
    return itertools.cycle(
        [request("GET", f"/v1/payments/calculate-fee?amount={amount}", headers) for amount in amounts]
    )


# The goals for a GET of one application with any credential, and for a list at any offset.
_ONE = {"bare": 1.35, "stock": 0.25, "fastapi": 0.88}
_LIST = {"bare": 1.25, "stock": 0.24, "fastapi": 0.70}
WORKLOADS = (
    Workload("get", "GET one application, JWT", get_one, _ONE),
    Workload("list", "list of 20, offset 0", list_at(0), _LIST),
    Workload("list-deep", f"list of 20, offset {DEEP_OFFSET}", list_at(DEEP_OFFSET), _LIST),
    Workload(
        "post", "POST with Idempotency-Key", post_application,
        {"bare": 1.40, "stock": 0.30, "fastapi": 0.58},
        status=201, own=frozenset({"id", "created_at", "updated_at"}),
    ),
    Workload(
        "put", "PUT status", put_status, {"bare": 1.45, "stock": 0.34, "fastapi": 0.60},
        own=frozenset({"id", "created_at", "updated_at", "provider_id", "submitted_at", "notes"}),
    ),
    Workload("key", "GET by API key", get_by_key, _ONE),
    Workload("signed", "GET signed", get_signed, _ONE),
    Workload("fee", "fee (no database)", get_fee, {"bare": 1.75, "stock": 0.33}),
)  # fmt: skip
