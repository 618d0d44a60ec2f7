"""Run schemathesis with both OpenAPI documents in several rounds, and collect the findings."""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID
from zlib import crc32

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.core.parameters import ParameterLocation
from schemathesis.engine import Status, from_schema
from schemathesis.engine.events import EngineEvent, FatalError, NonFatalError, ScenarioFinished
from schemathesis.generation.meta import TestPhase

from tests.system.fuzz.services import BEHIND_PROXY, Services

# Operations that delete an account's records are called with an account that has none.
DESTRUCTIVE = r"^/v1/sandbox/clock$"
OWNERS = frozenset({"user_id", "consumer_id"})
# For a longer request line, gunicorn returns 414 without calling the application.
REQUEST_LINE_MAX = 8_190
AGENTS_PATH = "/v1/ucp/catalog"  # for requests with UCP-Agent, errors have the protocol's body
SHORT_SHARE = 10  # the boundary values of all operations would be 10,000 requests
# The specification requires 502 for a declined card. If 502 is not documented, the check of documented statuses fails.
CHECKS = {
    "not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", "502"]},
    # A body beyond its limit returns 413, and a reused Idempotency-Key 422.
    "negative_data_rejection": {
        "expected-statuses": ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "502"]
    },
    # For an invalid transition, a closed offer, or a used key, 400 and 422 are correct. A schema can't express this.
    "positive_data_acceptance": {"enabled": False},
}
SERVER_ERRORS = ("not_a_server_error",)
UNDOCUMENTED = ("status_code_conformance", "unsupported_method", "allow_header_conformance")
OUTSIDE_SCHEMA = ("response_schema_conformance", "content_type_conformance", "response_headers_conformance")


@dataclass
class Findings:
    """The number of cases, and the faults with their requests by failed check."""

    cases: int = 0
    faults: dict[str, list[str]] = field(default_factory=dict)

    def figures(self) -> dict[str, int]:
        """Return the number of cases, and the number of wrong responses of each kind."""
        known = {"server errors": SERVER_ERRORS, "undocumented statuses": UNDOCUMENTED}
        known["responses outside their schema"] = OUTSIDE_SCHEMA
        result = {name: sum(len(self.faults.get(check, [])) for check in checks) for name, checks in known.items()}
        others = sum(map(len, self.faults.values())) - sum(result.values())
        return {"cases": self.cases, **result, "other faults": others}

    def examples(self, of_each: int = 1) -> str:
        """Format at most `of_each` faults for each check and operation."""
        counts: Counter = Counter()
        texts = []
        for check, faults in self.faults.items():
            for fault in faults:
                kind = (check, fault.partition("\n")[0])
                counts[kind] += 1
                if counts[kind] <= of_each:
                    texts.append(f"[{check}] {fault}")
        return "\n\n".join(texts)

    def add(self, event: EngineEvent) -> None:
        """Add the cases and the faults of an event."""
        if isinstance(event, FatalError | NonFatalError):
            fault = event.exception if isinstance(event, FatalError) else event.value
            self.faults.setdefault("engine", []).append(f"{getattr(event, 'label', '')}: {fault!r}")
        if not isinstance(event, ScenarioFinished):
            return
        recorder = event.recorder
        self.cases += len(recorder.interactions)
        for identifier, checks in recorder.checks.items():
            for check in checks:
                if check.status == Status.FAILURE:
                    response = recorder.interactions[identifier].response
                    body = response.content[:500] if response else b""
                    failure = check.failure_info.failure
                    lines = [f"{recorder.label}: {failure.title}", failure.message]
                    lines += [check.failure_info.code_sample, repr(body)]
                    self.faults.setdefault(check.name, []).append("\n".join(lines))


@dataclass(frozen=True)
class Round:
    """The settings of a run of schemathesis with an OpenAPI document."""

    document: str
    base: str
    headers: dict[str, str]
    stock: dict[str, list[Any]]
    seed: int
    examples: int
    phases: tuple[str, ...]
    destructive: bool = False
    share: int = 1  # the run includes one of this many operations

    def configuration(self) -> SchemathesisConfig:
        """Return the configuration for schemathesis."""
        phases = ("examples", "coverage", "fuzzing", "stateful")
        return SchemathesisConfig.from_dict(
            {
                "base-url": self.base,
                "seed": self.seed,
                "suppress-health-check": ["all"],
                "continue-on-failure": True,
                "headers": self.headers,
                "request-timeout": 120,
                "generation": {
                    "mode": "all",
                    "max-examples": self.examples,
                    "no-shrink": True,
                    "database": "none",
                    # The configured headers contain the credentials. With generated credentials, every response is 401.
                    "with-security-parameters": False,
                },
                "phases": {name: {"enabled": name in self.phases} for name in phases},
                "checks": CHECKS,
            }
        )

    def run(self, findings: Findings) -> None:
        """Run schemathesis, and add the results to the findings."""
        schema = schemathesis.openapi.from_url(self.document, config=self.configuration(), headers=self.headers)
        schema.hook("filter_failure")(_is_a_fault)
        chosen = schema.include if self.destructive else schema.exclude
        schema = chosen(path_regex=DESTRUCTIVE)
        if self.share > 1:
            schema = schema.include(self._has)
        with _real_values(self.stock, random.Random(self.seed)):
            for event in from_schema(schema).execute():
                findings.add(event)

    def _has(self, context: Any) -> bool:
        return crc32(context.operation.label.encode()) % self.share == self.seed % self.share


def _is_a_fault(_context: Any, _failure: Any, case: Any, response: Any) -> bool:
    """Return whether a failure is a fault: the response is the application's, and not 503 for a missing witness."""
    is_unwitnessed = response.status_code == 503 and b'"E7003"' in response.content
    return _reached_the_application(None, None, case, response) and not is_unwitnessed


def _reached_the_application(_context: Any, _failure: Any, _case: Any, response: Any) -> bool:
    """Return whether the response is from the application, and not from gunicorn."""
    request = response.request
    return len(f"{request.method} {request.path_url} HTTP/1.1\r\n") <= REQUEST_LINE_MAX


@schemathesis.check
def errors_are_complete(_context: Any, response: Any, case: Any) -> None:
    """Check that every error has its request ID, and the header that its status requires."""
    if response.status_code < 400 or not _reached_the_application(None, None, case, response):
        return
    headers = {name: values[0] for name, values in response.headers.items()}
    if response.request.method != "HEAD" and not (response.status_code == 503 and "health" in case.path):
        body = response.json()
        if "UCP-Agent" in response.request.headers and response.request.path_url.startswith(AGENTS_PATH):
            extra = {"code", "content"} if response.status_code == 422 else set()
            assert set(body) == {"ucp", "messages"} | extra, "an agent's error has other fields than the protocol's"
        else:
            assert {"error", "message", "code", "request_id"} <= set(body), "the error lacks fields"
            is_its_own = headers.get("idempotent-replayed") or body["request_id"] == headers["x-request-id"]
            assert is_its_own, "the request_id differs from the header"
    if response.status_code == 409 and b'"E3013"' in response.content:
        return  # an open counteroffer ends at an unknown time, so Retry-After is omitted
    wanted = {401: "www-authenticate", 405: "allow", 429: "retry-after", 409: "retry-after", 503: "retry-after"}
    assert wanted.get(response.status_code, "x-request-id") in headers, f"{response.status_code} without its header"


@contextmanager
def _real_values(stock: dict[str, list[Any]], chance: random.Random) -> Iterator[None]:
    """Replace valid values with existing IDs in most calls. Intentionally invalid values do not change.

    Before schemathesis checks a response, it classifies the changed request again.
    """

    def fill(values: Any, names: set[str], odds: float) -> None:
        for name in sorted(names & stock.keys()):
            real = [value for value in stock[name] if callable(value) or type(value) is type(values[name])]
            if real and chance.random() < odds:
                value = chance.choice(real)
                values[name] = value() if callable(value) else value

    @schemathesis.hook
    def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
        if case.meta is None:
            return
        # A stateful sequence uses the records that it created. Only their owner is replaced.
        is_sequence = case.meta.phase.name == TestPhase.STATEFUL
        for place, values in (
            (ParameterLocation.PATH, case.path_parameters),
            (ParameterLocation.QUERY, case.query),
            (ParameterLocation.BODY, case.body),
        ):
            if isinstance(values, dict):
                # The owner is replaced in any body, because the error for a wrong owner hides all other faults.
                owners = {name for name in OWNERS & values.keys() if _is_plain(values[name])}
                fill(values, owners if is_sequence or case.meta.is_negative_at(place) else set(values), 0.85)
        headers = case.headers or {}
        if "Idempotency-Key" in headers and not case.meta.is_negative_at(ParameterLocation.HEADER):
            fresh = str(UUID(int=chance.getrandbits(128), version=4))
            used = chance.choice(stock.get("Idempotency-Key", [fresh]))
            headers["Idempotency-Key"] = fresh if chance.random() < 0.9 else used

    try:
        yield
    finally:
        schemathesis.hooks.unregister(before_call)


def _is_plain(value: Any) -> bool:
    """Return whether a value has the form of a user ID."""
    return type(value) is int or (isinstance(value, str) and 1 <= len(value) <= 255 and "\0" not in value)


def run(services: Services, *, seed: int, examples: int) -> Findings:
    """Run a campaign: random cases of every operation, and all boundary values of one tenth of the operations.

    With more than one example, it runs the boundary values of all operations.

    The same seed generates the same values, except for IDs and effects of the order of responses.
    """
    findings = Findings()
    documents = [
        (f"{services.platform}/v1/openapi.json", services.platform),
        (f"{services.ledger}/openapi.json", services.ledger),
    ]
    owner = {"X-API-Key": services.owner["api_key"], **BEHIND_PROXY}
    wrong = {"X-API-Key": services.owner["api_key"][:-1] + "_", **BEHIND_PROXY}

    def rounds(headers: dict[str, str], seed: int, examples: int, *phases: str, share: int = 1) -> None:
        for document, base in documents:
            Round(document, base, headers, services.stock(4), seed, examples, phases, share=share).run(findings)

    rounds(owner, seed, examples, "examples", "fuzzing")
    rounds(owner, seed, examples, "coverage", share=SHORT_SHARE if examples == 1 else 1)
    document, base = documents[0]
    newcomer = {"X-API-Key": services.newcomer, **BEHIND_PROXY}
    Round(document, base, newcomer, {}, seed, 2, ("coverage", "fuzzing"), destructive=True).run(findings)
    for headers in (BEHIND_PROXY, wrong):
        rounds(headers, seed, 1, "fuzzing")
    rounds(owner, seed, max(1, examples // 2), "stateful")
    return findings
