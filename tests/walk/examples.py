"""What the walk saw, as the examples of the OpenAPI documents: `UPDATE_EXAMPLES=1 python3 -m tests.walk` writes them.

Ids, times and what the ledger has signed are those of the run. What is secret, or an address of this machine, is
replaced.
"""

import json
from pathlib import Path
from typing import Any

from tests.walk.service import Service

LIST_MAX = 2
TEXT_MAX = 12_000
# Whoever tries an operation has the demo's data: its first offer, which is of this provider.
DEMO = {"offer_id": 1, "provider_id": 1001}
SECRETS = frozenset(
    {
        "access_token", "client_secret", "code_verifier", "key", "link_token", "password", "public_token",
        "refresh_token", "secret", "token",
    }
)  # fmt: skip


def write(service: Service, file: Path, addresses: dict[str, str]) -> None:
    """Write the last success of each operation, by its operationId; `addresses` are replaced by what they map to."""
    examples = {}
    for operation_id, seen in sorted(service.exchanges.items()):
        path = {name: str(DEMO.get(name, value)) for name, value in seen["path"].items()}
        query = {name: type(value)(DEMO.get(name, value)) for name, value in seen["query"].items()}
        example: dict[str, Any] = {"parameters": path | query}
        if seen["request"] is not None and not isinstance(seen["request"], bytes):
            example["request"] = _shown(seen["request"], addresses)
        response = seen.get("response")
        if response is not None and len(json.dumps(response := _trimmed(_shown(response, addresses)))) <= TEXT_MAX:
            example["response"] = response
        examples[operation_id] = example
    examples["Error"] = {"response": _shown(service.refusal, addresses)}
    file.write_text(json.dumps(examples, indent=1, ensure_ascii=False) + "\n")


def _shown(part: Any, addresses: dict[str, str]) -> Any:
    """Return a part of a body without secrets and without this machine's addresses."""
    if isinstance(part, dict):
        is_of_an_offer = part.keys() >= DEMO.keys()
        shown = {}
        for name, value in part.items():
            if name in SECRETS and isinstance(value, str):
                shown[name] = f"the-{name.replace('_', '-')}"
            elif name == "hosted_url" and isinstance(value, str):
                shown[name] = f"{_shown(value, addresses).rpartition('/')[0]}/the-page"
            elif name in DEMO and is_of_an_offer and isinstance(value, str | int):
                shown[name] = type(value)(DEMO[name])
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
