"""A small Stripe on 127.0.0.1: it remembers keys and charges, and misbehaves when told to.

`plan` is a list of manners, one for each charge that is asked for, then "ok". Payment methods carry a manner, too:
`pm_declined`, `pm_requires_action`.
"""

import hashlib
import hmac
import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, urlsplit


class StripeDouble:
    """PaymentIntents with idempotency keys. A context manager; `url` is its STRIPE_BASE_URL."""

    def __init__(self, *, plan=(), search_lags=False, hang_seconds=1.0, choose=None):
        self.plan, self.search_lags, self.hang_seconds = list(plan), search_lags, hang_seconds
        self.choose = choose  # a function that names the manner of the next charge
        self.intents, self.answers, self.received = {}, {}, []
        self.asked = Counter()
        self.under_way = []  # what a gateway gave up on and we have not
        self._lock = threading.Lock()
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                double._serve(self)

            do_GET = do_POST  # noqa: N815

            def log_message(self, *_arguments):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_arguments):
                pass  # a client that was killed hangs up in the middle

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_exception):
        self._server.shutdown()
        self._server.server_close()

    @property
    def charges(self):
        """The intents for which money moved."""
        return [intent for intent in self.intents.values() if intent["status"] == "succeeded"]

    def charges_of(self, payment_id):
        return [intent for intent in self.charges if intent["metadata"].get("payment_id") == str(payment_id)]

    def forget_keys(self):
        """What Stripe does after a day."""
        self.answers.clear()

    def _serve(self, handler):
        length = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(length)
        parts = urlsplit(handler.path)
        self.received.append((handler.command, parts.path, parts.query, dict(handler.headers), body))
        if handler.command == "GET":
            named = self.intents.get(parts.path.split("/")[-1])
            return self._reply(handler, 200, named or self._list(parts))
        form = dict(parse_qsl(body.decode()))
        if parts.path.endswith("/cancel"):
            intent = self.intents[parts.path.split("/")[3]]
            intent["status"] = "canceled"
            return self._reply(handler, 200, intent)
        return self._charge(handler, form)

    def _list(self, parts):
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        found = list(self.intents.values())
        if parts.path.endswith("/search"):
            wanted = query["query"].split("'")[3]
            found = [] if self.search_lags else [one for one in found if one["metadata"].get("payment_id") == wanted]
            return {"object": "search_result", "url": parts.path, "has_more": False, "data": found}
        found = [one for one in found if int(query["created[gte]"]) <= one["created"] <= int(query["created[lte]"])]
        found.sort(key=lambda one: one["created"], reverse=True)
        if "starting_after" in query:
            ids = [one["id"] for one in found]
            found = found[ids.index(query["starting_after"]) + 1 :]
        limit = int(query.get("limit", 10))
        return {"object": "list", "url": parts.path, "has_more": len(found) > limit, "data": found[:limit]}

    def _charge(self, handler, form):
        key = handler.headers["Idempotency-Key"]
        with self._lock:
            self.asked[key] += 1
            if key in self.answers:
                return self._reply(handler, *self.answers[key])
            manner = self.choose() if self.choose else (self.plan.pop(0) if self.plan else "ok")
            if manner == "hang-then-charge":
                pass
            elif manner not in {"500-before", "reset-before", "504-before"}:
                self._make(form, key, manner)
            if manner == "500-before":
                self.answers[key] = (500, {"error": {"type": "api_error", "message": "We failed."}})
        if manner == "504-before":
            self.under_way.append((form, key))
            return self._reply(handler, 504, {"error": {"type": "api_error", "message": "Our gateway gave up."}})
        if manner == "reset-before":
            return self._hang_up(handler)
        if manner == "hang-then-charge":
            time.sleep(self.hang_seconds)
            with self._lock:
                if key not in self.answers:
                    self._make(form, key, "ok")
            return self._hang_up(handler)
        if manner in {"reset-after", "hang-after"}:
            if manner == "hang-after":
                time.sleep(self.hang_seconds)
            return self._hang_up(handler)
        if manner == "500-after":
            return self._reply(handler, 500, {"error": {"type": "api_error", "message": "We failed, too late."}})
        if manner == "html":
            return self._reply(handler, 200, raw=b"<html>Welcome</html>")
        if manner == "truncated":
            return self._reply(handler, 200, raw=json.dumps(self.answers[key][1]).encode()[:40])
        if manner == "redirect":
            return self._reply(handler, 302, {}, headers={"Location": f"{self.url}/elsewhere"})
        if manner in {"wrong-amount", "wrong-currency"}:
            told = dict(self.answers[key][1])
            told |= {"amount": 1} if manner == "wrong-amount" else {"currency": "jpy"}
            return self._reply(handler, 200, told)
        return self._reply(handler, *self.answers[key])

    def _make(self, form, key, manner):
        """Make the intent, and the answer that its key gets from now on."""
        metadata = {name[9:-1]: value for name, value in form.items() if name.startswith("metadata[")}
        identifier = f"pi_{len(self.intents) + 1:06d}"
        declined = manner == "declined" or form["payment_method"] == "pm_declined"
        action = form["payment_method"] == "pm_requires_action"
        status = "requires_payment_method" if declined else "requires_action" if action else "succeeded"
        if manner == "processing":
            status = "processing"
        intent = {
            "id": identifier,
            "object": "payment_intent",
            "amount": int(form["amount"]),
            "amount_received": int(form["amount"]) if status == "succeeded" else 0,
            "currency": form["currency"],
            "status": status,
            "metadata": metadata,
            "created": int(time.time()),
            "livemode": False,
            "capture_method": "automatic",
            "confirmation_method": "automatic",
            "payment_method_types": ["card"],
        }
        self.intents[identifier] = intent
        if declined:
            error = {
                "type": "card_error", "code": "card_declined", "decline_code": "generic_decline",
                "message": "Your card was declined.",
            }  # fmt: skip
            self.answers[key] = (402, {"error": error})
        else:
            self.answers[key] = (200, dict(intent))

    def come_to_the_end(self):
        """Charge what was under way, each key once."""
        for form, key in self.under_way:
            if key not in self.answers:
                self._make(form, key, "ok")

    def event(self, kind, intent, *, identifier="evt_1"):
        """An event as Stripe sends it."""
        content = {"id": identifier, "object": "event", "type": kind, "data": {"object": intent}}
        return json.dumps(content).encode()

    @staticmethod
    def _hang_up(handler):
        handler.close_connection = True

    @staticmethod
    def _reply(handler, status, content=None, *, raw=None, headers=None):
        body = raw if raw is not None else json.dumps(content).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)


def sign_event(body, secret, *, at=None):
    """The header under which Stripe sends an event."""
    timestamp = str(int(time.time() if at is None else at))
    signature = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={signature}"
