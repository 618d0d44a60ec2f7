"""The callers of the soak test: the demo's kinds of callers, mixed in a fixed proportion.

`python -m tests.bench.soak_callers RECEIVER_PORT`, with the environment of a seeded database, creates their records. It
prints their tokens as a line of JSON.
"""

import itertools
import json
import sys
import time
from collections import deque
from collections.abc import Iterator
from uuid import uuid4

import orjson

from tests.bench.paced import Call
from tests.bench.seeding import APPLICATION_DATA, OFFER_ID, PROVIDER_ID, Facts
from tests.bench.workloads import CONNECTIONS, get_by_key, get_signed, put_status, request

# The number of calls of each kind in one cycle.
MIX = {
    "consumer reads": 30, "consumer lists": 14, "consumer applies": 8, "consumer edits": 4, "API key reads": 24,
    "signed reads": 16, "reviewer decides": 10, "reviewer requests documents": 8, "webhook receiver reads the feed": 3,
}  # fmt: skip
_RENEW_SECONDS = 240  # the interval of token renewals: an access token expires after 15 minutes


class Callers:
    """An endless mix of calls. Responses determine later calls: a new application is reviewed, a token is renewed."""

    def __init__(self, facts: Facts, tokens_by_name: dict[str, str]) -> None:
        self.facts, self.tokens_by_name = facts, tokens_by_name
        self.new: deque[str] = deque(maxlen=10_000)
        self.reviewed: deque[str] = deque(maxlen=10_000)
        self.last_sequence = 0
        self.keyed = itertools.cycle(get_by_key(facts, "platform", 0))
        self.signed = get_signed(facts, "platform", 1)
        moves = [put_status(facts, "platform", number) for number in range(CONNECTIONS)]
        self.moves = itertools.chain.from_iterable(zip(*moves, strict=False))
        self.ids = itertools.cycle(facts.sample)
        self.own = itertools.cycle(facts.moved["bare"])
        self.renew_at = {
            who: time.monotonic() + _RENEW_SECONDS + 20 * number for number, who in enumerate(("reader", "writer"))
        }

    def __iter__(self) -> Iterator[Call]:
        """Yield calls forever."""
        kinds = {
            "consumer reads": lambda: self._get("reader", f"/v1/applications/{next(self.ids)}"),
            "consumer lists": lambda: self._get("reader", "/v1/applications?limit=20"),
            "consumer applies": self._apply,
            "consumer edits": self._edit,
            "API key reads": lambda: (next(self.keyed),),
            "signed reads": lambda: (next(self.signed),),
            "reviewer decides": self._decide,
            "reviewer requests documents": lambda: (self._with_token(next(self.moves)),),
            "webhook receiver reads the feed": self._feed,
        }
        # The calls of each kind are evenly distributed over the cycle.
        order = sorted(((position + 0.5) / count, kind) for kind, count in MIX.items() for position in range(count))
        for _, kind in itertools.cycle(order):
            yield from self._renewals()
            yield Call(kind, *kinds[kind]())

    def _headers(self, who: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens_by_name[who]}"}

    def _with_token(self, raw: bytes) -> bytes:
        """Replace the token in a prepared request with the writer's current token."""
        return raw.replace(self.facts.writer_token.encode(), self.tokens_by_name["writer"].encode())

    def _get(self, who: str, target: str) -> tuple[bytes]:
        return (request("GET", target, self._headers(who)),)

    def _apply(self) -> tuple:
        body = {
            "consumer_id": str(self.facts.reader_id), "offer_id": OFFER_ID, "provider_id": PROVIDER_ID,
            "initial_status": "submitted", "application_data": orjson.loads(APPLICATION_DATA),
        }  # fmt: skip
        headers = {**self._headers("reader"), "Idempotency-Key": str(uuid4())}
        raw = request("POST", "/v1/applications", headers, orjson.dumps(body))
        return raw, (201,), lambda answer: self.new.append(orjson.loads(answer)["id"])

    def _edit(self) -> tuple[bytes]:
        body = orjson.dumps({"updated_by": "consumer", "notes": f"At {time.time():.3f}"})
        return (request("PUT", f"/v1/applications/{next(self.own)}", self._headers("writer"), body),)

    def _decide(self) -> tuple:
        """Approve an application under review. If none is left, start the review of a new application."""
        if self.reviewed:
            return self._move(self.reviewed.popleft(), "approved", None)
        if self.new:
            return self._move(self.new.popleft(), "under_review", self.reviewed)
        return self._get("writer", "/v1/applications?limit=5")

    def _move(self, identifier: str, status: str, following: "deque[str] | None") -> tuple:
        body = orjson.dumps({"status": status, "updated_by": "reviewer", "reason": "Soak."})
        headers = {**self._headers("writer"), "Idempotency-Key": str(uuid4())}
        raw = request("PUT", f"/v1/applications/{identifier}/status", headers, body)
        return raw, (200,), None if following is None else lambda _answer: following.append(identifier)

    def _feed(self) -> tuple:
        def remember(answer: bytes) -> None:
            events = orjson.loads(answer)["events"]
            self.last_sequence = max([self.last_sequence, *(event["sequence"] for event in events)])

        return *self._get("reader", f"/v1/webhooks/events?after={self.last_sequence}&limit=100"), (200,), remember

    def _renewals(self) -> Iterator[Call]:
        """Renew tokens before they expire."""
        for who, moment in self.renew_at.items():
            if time.monotonic() < moment:
                continue
            self.renew_at[who] = time.monotonic() + _RENEW_SECONDS

            def keep(answer: bytes, who: str = who) -> None:
                pair = orjson.loads(answer)
                self.tokens_by_name[who] = pair["access_token"]
                self.tokens_by_name[f"{who}_refresh"] = pair["refresh_token"]

            body = {"refresh_token": self.tokens_by_name[f"{who}_refresh"]}
            yield Call("token renewal", request("POST", "/v1/auth/refresh", {}, orjson.dumps(body)), (200,), keep)


def _create_callers(receiver_port: int) -> dict[str, str]:
    """Create the callers' records in the database of the environment; return their tokens."""
    import django

    django.setup()
    from django.utils import timezone

    from config.webhooks.endpoints import create_endpoint
    from credit.models import ProviderMember
    from identity.access import tokens
    from identity.models import User

    reader, writer = User.objects.get(username="reader"), User.objects.get(username="writer")
    ProviderMember.objects.get_or_create(provider_id=str(PROVIDER_ID), user=writer, defaults={"role": "owner"})
    now = timezone.now()
    create_endpoint(
        account_id=reader.pk, url=f"http://127.0.0.1:{receiver_port}/", event_types=["*"], description="", now=now
    )
    pairs = {"reader": tokens.start_family(user=reader, now=now), "writer": tokens.start_family(user=writer, now=now)}
    return {
        **{who: pair.access_token for who, pair in pairs.items()},
        **{f"{who}_refresh": pair.refresh_token for who, pair in pairs.items()},
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_create_callers(int(sys.argv[1]))) + "\n")
