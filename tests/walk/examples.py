"""What the walk saw, as the examples of the OpenAPI documents: `UPDATE_EXAMPLES=1 python3 -m tests.walk` writes them.

Requests name the demo's records, whose ids are the same everywhere; other ids, times and what the ledger has signed are
those of a run. What is secret, or an address of this machine, is replaced. An answer that differs from the recorded one
only in what differs from run to run stays as it is.
"""

import json
import re
from pathlib import Path
from typing import Any

from tests.walk.service import Service

LIST_MAX = 2
TEXT_MAX = 12_000
SECRETS = frozenset(
    {"access_token", "client_secret", "code_verifier", "key", "link_token", "password", "refresh_token", "secret",
     "token"}
)  # fmt: skip
# Ids, times, hashes, signatures: words with a digit, or with a capital letter behind a small one; not the demo's ids.
CHANGING = re.compile(r"[^\s\",]*(?:\d|[a-z][A-Z])[^\s\",]*")
KNOWN = "01900000-0000-7000-8000-"


def write(service: Service, file: Path, addresses: dict[str, str]) -> None:
    """Write the last success of each operation, by its operationId; `addresses` are replaced by what they map to."""
    recorded = json.loads(file.read_text()) if file.exists() else {}
    examples = {}
    for operation_id, seen in sorted(service.exchanges.items()):
        path = {name: str(value) for name, value in seen["path"].items()}
        example: dict[str, Any] = {"parameters": path | seen["query"]}
        if seen["request"] is not None and not isinstance(seen["request"], bytes):
            example["request"] = _shown(seen["request"], addresses)
        response = seen.get("response")
        if response is not None and len(json.dumps(response := _trimmed(_shown(response, addresses)))) <= TEXT_MAX:
            example["response"] = response
        examples[operation_id] = _unless_the_same(example, recorded.get(operation_id))
    refusal = {"response": _shown(service.refusal, addresses)}
    examples["Error"] = _unless_the_same(refusal, recorded.get("Error"))
    file.write_text(json.dumps(examples, indent=1, ensure_ascii=False) + "\n")


def _unless_the_same(example: dict[str, Any], recorded: Any) -> dict[str, Any]:
    """Return what was recorded before if it is the same request with an answer that says the same, else the new one."""
    if recorded is None:
        return example
    is_same = _asked(example) == _asked(recorded) and _form(example.get("response")) == _form(recorded.get("response"))
    return recorded if is_same else example


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
            if name in SECRETS and isinstance(value, str):
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
