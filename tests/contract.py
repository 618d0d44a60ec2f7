"""Record the examples of both OpenAPI documents again, in process: `make contract` runs this file.

`config/examples.json` and `ledger/examples.json` contain, for each operation, the parameters and the body to send,
which you write, and the response, which this file records. Each operation is called on a new demo and rolled back.
Secrets and URLs of this machine are replaced. A response that differs from the recorded one only in ids and times
stays unchanged. Signed responses change together, so that one example verifies another.
"""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import transaction
from django.test import Client, override_settings
from django.utils import timezone

import config.urls
import ledger.urls
from config.ops import demo_ids
from credit.anchoring.services import anchor_due
from credit.models import DecisionAnchor
from tests.ledger.conftest import LedgerClient
from tests.test_examples import EXCEPTIONS, LEDGER, PLATFORM, body_of, demo_settings, headers_of, operations, seeded

LIST_MAX = 2
TEXT_MAX = 16_000
SECRETS = frozenset(
    {"access_token", "client_secret", "code_verifier", "key", "link_token", "password", "refresh_token", "secret",
     "token"}
)  # fmt: skip
# IDs, times, hashes, and signatures are words with a digit, or with a capital letter after a lower-case letter. The
# demo's IDs are exceptions.
CHANGING = re.compile(r"[^\s\",]*(?:\d|[a-z][A-Z])[^\s\",]*")
KNOWN = "01900000-0000-7000-8000-"
# The pattern matches signed values and keys in three ways: by field name, as the last line of a checkpoint, and by the
# form of a verifier key.
SIGNED = re.compile(r'"(?:leaf_hash|proof|proof_file|public_key|root|signature)"|\\n— |\+[0-9a-f]{8}\+')
FILES = {PLATFORM: Path(config.urls.__file__), LEDGER: Path(ledger.urls.__file__)}


@pytest.fixture
def demo(transactional_db, live_server, settings, tmp_path):
    """Yield a new demo with anchored decisions and issued notices."""
    with demo_settings(tmp_path):
        seeds = seeded()
        with override_settings(ROOT_URLCONF=LEDGER, CHAIN_URL=live_server.url):
            assert LedgerClient().post_json("/anchor/batch", {"items": demo_ids.REPORTS}).status_code == 200
            while anchor_due(now=timezone.now())["anchored"]:
                pass
        assert not DecisionAnchor.objects.filter(anchored_at=None).exists()
        call_command("issue_notices", once=True, stdout=StringIO())
        yield seeds


def test_end_to_end_run_records_the_api_examples(demo):
    """Record a response for each operation, by its operationId."""
    headers = headers_of(demo)
    recorded, examples = {}, {}
    for urlconf, beside in FILES.items():
        file = beside.with_name("examples.json")
        recorded |= {(file, name): example for name, example in json.loads(file.read_text()).items()}
        examples[file, "Error"] = recorded[file, "Error"]
        with override_settings(ROOT_URLCONF=urlconf):
            # The ledger is append-only: reads come first.
            for name, method, path, operation in sorted(operations(urlconf), key=lambda known: known[1] != "get"):
                example = recorded.get((file, name), {"parameters": {}})
                if name not in EXCEPTIONS:
                    credential = headers(name) if urlconf == PLATFORM else {}
                    response = answer(method, path, operation, example, demo, credential)
                    # A new demo lacks some records: an empty list is less useful than the recorded list.
                    if not is_empty(response) or "response" not in example:
                        example = {key: value for key, value in example.items() if key != "response"}
                        example |= {} if response is None else {"response": response}
                examples[file, name] = example
    changed = {key for key, example in examples.items() if not _is_equivalent(example, recorded.get(key))}
    signed = {key for key, example in examples.items() if SIGNED.search(_text(example))}
    if changed & signed:
        changed |= signed
    for file in {file for file, _name in examples}:
        written = {
            name: examples[file, name] if (file, name) in changed else recorded[file, name]
            for written_to, name in sorted(examples, key=lambda key: (key[1] == "Error", key[1]))
            if written_to == file
        }
        file.write_text(_text(written) + "\n")


def answer(method, path, operation, example, demo, headers):
    """Call an operation with its parameters and body; return the response to record, if any."""
    missing = [name for name in re.findall(r"\{(\w+)\}", path) if name not in example["parameters"]]
    assert not missing, f"Write `parameters` of {operation['operationId']} into examples.json: {missing}"
    query = {name: value for name, value in example["parameters"].items() if f"{{{name}}}" not in path}
    address = re.sub(r"\{(\w+)\}", lambda name: str(example["parameters"][name[1]]), path)
    address += f"?{urlencode(query)}" if query else ""
    client, sent = Client(), {"headers": headers, **body_of(operation, demo)}
    if settings.ROOT_URLCONF == LEDGER:
        response = getattr(client, method)(address, **sent)
    else:
        with transaction.atomic():
            response = getattr(client, method)(address, **sent)
            transaction.set_rollback(True)
    assert 200 <= response.status_code < 300, (operation["operationId"], response.content)
    content, media_type = response.getvalue(), response.headers.get("Content-Type", "")
    if content and "json" in media_type:
        content = json.loads(content)
    elif content:
        content = content.decode("utf-8-sig") if media_type.startswith("text/") else None
    if content and media_type.startswith("text/csv"):
        content = "".join(content.splitlines(keepends=True)[: LIST_MAX + 1])
    shown = _trimmed(_without_secrets(content))
    return shown if shown not in (None, b"") and len(json.dumps(shown)) <= TEXT_MAX else None


def is_empty(response):
    """Return whether a response is an empty list, or an object whose only list is empty."""
    lists = [response] if isinstance(response, list) else []
    if isinstance(response, dict):
        lists = [value for value in response.values() if isinstance(value, list)]
    return len(lists) == 1 and not lists[0]


def _text(part: Any) -> str:
    return json.dumps(part, indent=1, ensure_ascii=False)


def _is_equivalent(example: dict[str, Any], recorded: dict[str, Any] | None) -> bool:
    """Return whether an example equals the recorded example, except for values that change."""
    if recorded is None:
        return False
    return _request_without_proof(example) == _request_without_proof(recorded) and _form(
        example.get("response")
    ) == _form(recorded.get("response"))


def _request_without_proof(example: dict[str, Any]) -> dict[str, Any]:
    """Return a request without its proof, which comes from another response."""
    return {"parameters": example.get("parameters"), "request": {**(example.get("request") or {}), "proof": None}}


def _form(part: Any) -> Any:
    """Return a part of a response without the values that differ between runs."""
    if isinstance(part, dict):
        return {name: _form(value) for name, value in part.items()}
    if isinstance(part, list):  # The number of items can vary.
        return [_form(item) for item in (part[:1] if part and isinstance(part[0], dict) else part)]
    if isinstance(part, str):
        return CHANGING.sub(lambda word: word[0] if KNOWN in word[0] else "0", part)
    return part


def _without_secrets(part: Any) -> Any:
    """Return a part of a body without secrets and without this machine's addresses."""
    if isinstance(part, dict):
        shown = {}
        for name, value in part.items():
            # A signature contains the name of its key.
            if name in SECRETS and isinstance(value, str) and set(part) != {"key", "value"}:
                shown[name] = f"the-{name.replace('_', '-')}"
            elif name == "hosted_url" and isinstance(value, str):
                shown[name] = f"{_without_secrets(value).rpartition('/')[0]}/the-page"
            else:
                shown[name] = _without_secrets(value)
        return shown
    if isinstance(part, list):
        return [_without_secrets(item) for item in part]
    return part


def _trimmed(answer: Any, depth: int = 2) -> Any:
    """Return a response with shortened lists."""
    if isinstance(answer, list):
        things = answer[:LIST_MAX] if answer and isinstance(answer[0], dict) else answer
        return [_trimmed(thing, depth) for thing in things]
    if isinstance(answer, dict) and depth:
        return {name: _trimmed(value, depth - 1) for name, value in answer.items()}
    return answer
