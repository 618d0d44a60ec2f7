"""Serve a small Stripe on 127.0.0.1 that stores keys and charges, and simulates faults.

`plan` is a list of behaviors, one for each requested charge; after the last, charges succeed ("ok"). Payment methods
also select a behavior: `pm_declined`, `pm_requires_action`.
"""

import hashlib
import hmac
import json
import threading
import time
from collections import Counter
from urllib.parse import parse_qsl

from tests.payments.http_double import HANG_UP, HttpDouble, Reply


class StripeDouble(HttpDouble):
    """PaymentIntents with idempotency keys; `url` is its STRIPE_BASE_URL."""

    def __init__(self, *, plan=(), search_lags=False, hang_seconds=1.0, choose=None):
        super().__init__()
        self.plan, self.search_lags, self.hang_seconds = list(plan), search_lags, hang_seconds
        self.choose = choose  # The function returns the behavior of the next charge.
        self.intents, self.answers = {}, {}
        self.request_counts = Counter()
        self.in_flight = []  # The gateway timed out for these charges, which can still succeed.
        self._lock = threading.Lock()

    @property
    def charges(self):
        """Return the intents that moved money."""
        return [intent for intent in self.intents.values() if intent["status"] == "succeeded"]

    def charges_of(self, payment_id):
        return [intent for intent in self.charges if intent["metadata"].get("payment_id") == str(payment_id)]

    def forget_keys(self):
        """Forget all keys, as Stripe does after a day."""
        self.answers.clear()

    def answer(self, request):
        """Return intents, or create or cancel a charge."""
        intent = self.intents.get(request.path.removesuffix("/cancel").split("/")[-1])
        if request.method == "GET":
            return Reply(content=intent or self._list(request.path, request.query))
        if request.path.endswith("/cancel"):
            intent["status"] = "canceled"
            return Reply(content=intent)
        return self._charge(dict(parse_qsl(request.data.decode())), request.headers["Idempotency-Key"])

    def _list(self, path, query):
        rows = list(self.intents.values())
        if path.endswith("/search"):
            wanted = query["query"].split("'")[3]
            rows = [] if self.search_lags else [item for item in rows if item["metadata"].get("payment_id") == wanted]
            return {"object": "search_result", "url": path, "has_more": False, "data": rows}
        rows = [item for item in rows if int(query["created[gte]"]) <= item["created"] <= int(query["created[lte]"])]
        rows.sort(key=lambda item: item["created"], reverse=True)
        if "starting_after" in query:
            ids = [item["id"] for item in rows]
            rows = rows[ids.index(query["starting_after"]) + 1 :]
        limit = int(query.get("limit", 10))
        return {"object": "list", "url": path, "has_more": len(rows) > limit, "data": rows[:limit]}

    def _charge(self, form, key):
        with self._lock:
            self.request_counts[key] += 1
            if key in self.answers:
                return Reply(*self.answers[key])
            behavior = self.choose() if self.choose else (self.plan.pop(0) if self.plan else "ok")
            if behavior == "hang-then-charge":
                pass
            elif behavior not in {"500-before", "reset-before", "504-before"}:
                self._make(form, key, behavior)
            if behavior == "500-before":
                self.answers[key] = (500, {"error": {"type": "api_error", "message": "We failed."}})
        if behavior == "504-before":
            self.in_flight.append((form, key))
            return Reply(504, {"error": {"type": "api_error", "message": "Our gateway timed out."}})
        if behavior == "reset-before":
            return HANG_UP
        if behavior == "hang-then-charge":
            time.sleep(self.hang_seconds)
            with self._lock:
                if key not in self.answers:
                    self._make(form, key, "ok")
            return HANG_UP
        if behavior in {"reset-after", "hang-after"}:
            if behavior == "hang-after":
                time.sleep(self.hang_seconds)
            return HANG_UP
        if behavior == "500-after":
            return Reply(500, {"error": {"type": "api_error", "message": "We failed, too late."}})
        if behavior == "html":
            return Reply(raw=b"<html>Welcome</html>")
        if behavior == "truncated":
            return Reply(raw=json.dumps(self.answers[key][1]).encode()[:40])
        if behavior == "redirect":
            return Reply(302, {}, headers={"Location": f"{self.url}/elsewhere"})
        if behavior in {"wrong-amount", "wrong-currency"}:
            answers = dict(self.answers[key][1])
            answers |= {"amount": 1} if behavior == "wrong-amount" else {"currency": "jpy"}
            return Reply(content=answers)
        return Reply(*self.answers[key])

    def _make(self, form, key, behavior):
        """Create the intent, and store the response of its key."""
        metadata = {name[9:-1]: value for name, value in form.items() if name.startswith("metadata[")}
        identifier = f"pi_{len(self.intents) + 1:06d}"
        declined = behavior == "declined" or form["payment_method"] == "pm_declined"
        action = form["payment_method"] == "pm_requires_action"
        status = "requires_payment_method" if declined else "requires_action" if action else "succeeded"
        if behavior == "processing":
            status = "processing"
        intent = {
            "id": identifier, "object": "payment_intent", "amount": int(form["amount"]),
            "amount_received": int(form["amount"]) if status == "succeeded" else 0, "currency": form["currency"],
            "status": status, "metadata": metadata, "created": int(time.time()), "livemode": False,
            "capture_method": "automatic", "confirmation_method": "automatic", "payment_method_types": ["card"],
        }  # fmt: skip
        self.intents[identifier] = intent
        if declined:
            error = {
                "type": "card_error", "code": "card_declined", "decline_code": "generic_decline",
                "message": "Your card was declined.",
            }  # fmt: skip
            self.answers[key] = (402, {"error": error})
        else:
            self.answers[key] = (200, dict(intent))

    def complete_in_flight(self):
        """Complete the in-flight charges, once for each key."""
        for form, key in self.in_flight:
            if key not in self.answers:
                self._make(form, key, "ok")

    def event(self, kind, intent, *, identifier="evt_1"):
        content = {"id": identifier, "object": "event", "type": kind, "data": {"object": intent}}
        return json.dumps(content).encode()


def sign_event(body, secret, *, at=None):
    """Return the signature header of an event."""
    timestamp = str(int(time.time() if at is None else at))
    signature = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={signature}"
