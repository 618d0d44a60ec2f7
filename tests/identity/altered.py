"""Adapters of open banking for tests, in a module whose name fits into the 32 characters of OPEN_BANKING."""

import json

from config.core.credentials import InvalidSignature
from identity.providers.sandbox import Sandbox


class Altered(Sandbox):
    """An adapter whose method returns another value."""

    method, change = "", None

    def __getattribute__(self, name):
        value = object.__getattribute__(self, name)
        if name != Altered.method:
            return value
        return lambda *arguments, **options: Altered.change(value(*arguments, **options))


class Other(Sandbox):
    """A vendor that signs its events in a header of its own, and has its own format."""

    def verify_event(self, headers, body, *, now):
        if headers.get("X-Other-Signature") != "good":
            raise InvalidSignature("The event's signature does not match.")
        return json.loads(body)["session"]
