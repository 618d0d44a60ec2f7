"""What the walk saw, as examples of the documents: `UPDATE_EXAMPLES=1 python3 -m tests.system.walk` writes them.

Requests name the demo's records, whose ids are the same everywhere; other ids, times and what the ledger has signed are
those of a run. What is secret, or an address of this machine, is replaced. An answer that differs from the recorded one
only in what differs from run to run stays as it is; what keys have signed stays all together or not at all, so that
one example proves another.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.system.walk.service import Service

LIST_MAX = 2
TEXT_MAX = 16_000
SECRETS = frozenset(
    {"access_token", "client_secret", "code_verifier", "key", "link_token", "password", "refresh_token", "secret",
     "token"}
)  # fmt: skip
# Ids, times, hashes, signatures: words with a digit, or with a capital letter behind a small one; not the demo's ids.
CHANGING = re.compile(r"[^\s\",]*(?:\d|[a-z][A-Z])[^\s\",]*")
KNOWN = "01900000-0000-7000-8000-"
# What a key has signed, and keys: by the names of members, a checkpoint's last line, or the form of a verifier key.
SIGNED = re.compile(r'"(?:leaf_hash|proof|proof_file|public_key|root|signature)"|\\n— |\+[0-9a-f]{8}\+')


def write(files: dict[Path, Service], addresses: dict[str, str]) -> None:
    """Write the last success of each operation, by its operationId; `addresses` are replaced by what they map to."""
    examples = {(file, name): one for file, service in files.items() for name, one in _seen(service, addresses)}
    recorded = {(file, name): one for file in files for name, one in json.loads(file.read_text()).items()}
    changed = {key for key, one in examples.items() if not _says_the_same(one, recorded.get(key))}
    signed = {key for key, one in examples.items() if SIGNED.search(_text(one))}
    if changed & signed:
        changed |= signed
    for file in files:
        kept = {key[1]: one if key in changed else recorded[key] for key, one in examples.items() if key[0] == file}
        file.write_text(_text(kept) + "\n")


def _text(part: Any) -> str:
    return json.dumps(part, indent=1, ensure_ascii=False)


def _seen(service: Service, addresses: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for operation_id, seen in sorted(service.exchanges.items()):
        path = {name: str(value) for name, value in seen["path"].items()}
        example: dict[str, Any] = {"parameters": path | seen["query"]}
        if seen["request"] is not None and not isinstance(seen["request"], bytes):
            example["request"] = _shown(seen["request"], addresses)
        response = seen.get("response")
        if response is not None and len(json.dumps(response := _trimmed(_shown(response, addresses)))) <= TEXT_MAX:
            example["response"] = response
        yield operation_id, example
    yield "Error", {"response": _shown(service.refusal, addresses)}


def _says_the_same(example: dict[str, Any], recorded: dict[str, Any] | None) -> bool:
    """Say whether it is the same request with an answer that says the same as what was recorded before."""
    if recorded is None:
        return False
    return _asked(example) == _asked(recorded) and _form(example.get("response")) == _form(recorded.get("response"))


def _asked(example: dict[str, Any]) -> dict[str, Any]:
    """Return what a request says, without the proof that another answer gave it."""
    return {"parameters": example.get("parameters"), "request": {**(example.get("request") or {}), "proof": None}}


def _form(part: Any) -> Any:
    """Return a part of an answer without what differs from run to run."""
    if isinstance(part, dict):
        return {name: _form(value) for name, value in part.items()}
    if isinstance(part, list):  # of things there are sometimes more, sometimes fewer
        return [_form(one) for one in (part[:1] if part and isinstance(part[0], dict) else part)]
    if isinstance(part, str):
        return CHANGING.sub(lambda word: word[0] if KNOWN in word[0] else "0", part)
    return part


def _shown(part: Any, addresses: dict[str, str]) -> Any:
    """Return a part of a body without secrets and without this machine's addresses."""
    if isinstance(part, dict):
        shown = {}
        for name, value in part.items():
            # A signature names its key.
            if name in SECRETS and isinstance(value, str) and set(part) != {"key", "value"}:
                shown[name] = f"the-{name.replace('_', '-')}"
            elif name == "hosted_url" and isinstance(value, str):
                shown[name] = f"{_shown(value, addresses).rpartition('/')[0]}/the-page"
            else:
                shown[name] = _shown(value, addresses)
        return shown
    if isinstance(part, list):
        return [_shown(one, addresses) for one in part]
    if isinstance(part, str):
        for address, instead in addresses.items():
            part = part.replace(address, instead)
    return part


def _trimmed(answer: Any, depth: int = 2) -> Any:
    """Return an answer whose lists of things have a few of them."""
    if isinstance(answer, list):
        things = answer[:LIST_MAX] if answer and isinstance(answer[0], dict) else answer
        return [_trimmed(one, depth) for one in things]
    if isinstance(answer, dict) and depth:
        return {name: _trimmed(value, depth - 1) for name, value in answer.items()}
    return answer
