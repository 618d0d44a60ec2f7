"""Write the input for Sphinx: `docs/`, the pages in the root of the repository, and generated pages.

The generated pages contain the error codes, the event catalog, and the scopes.

`python -m config.docs.source FOLDER` writes the input into a new FOLDER. `make docs` then runs Sphinx.
"""

import json
import os
import posixpath
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import django

ROOT = Path(__file__).resolve().parents[2]
NEXT_TO_IT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_BRAND = ROOT / "config/static/brand.css"
_ICON = ROOT / "config/backoffice/static/backoffice/icon.svg"
_ERRORS = "reference/errors.md"
_COMMENT_LINES = re.compile(r"^<!--.*?-->\n", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[((?:`[^`]*`|[^\[\]`])*)\]\(([^)\s]+)\)")
_ROW = re.compile(r"^\| `(E\d{4})` \| \d+ \| (.+) \|$", re.MULTILINE)
_SAME_KEY = "Send the same request again, with the same `Idempotency-Key`."
_LATER = "Send the same request again after the number of seconds in `Retry-After`."
_COMPARE_ID = "Compare the ID with the IDs of"
# Advice for an error code or for an HTTP status. The advice for an error code has priority.
_ADVICE: dict[str | int, str] = {
    "E1001": "Correct the fields in `details`. If there are none, correct the value that the message states.",
    "E1002": "Send a body of valid JSON, within the limits that the message states.",
    "E1003": "Send `amount` as an integer of cents, for example 500000 for 5,000.00 USD.",
    "E1004": "Send a status that the message or the field's schema lists.",
    "E1005": "Add the parameter that the message states.",
    "E1006": "Send a `limit` and an `offset` within the range of the operation.",
    "E1007": "Send a smaller body or file.",
    "E1008": "Send the header `Idempotency-Key` once, with a UUID as its value.",
    "E1009": "Send the request to the `https` URL. Rotate each key that you sent over HTTP.",
    "E1010": "Send a new `Idempotency-Key` with this request.",
    "E1011": "Select an active offer with `GET /v1/ucp/catalog/items`, and send its ID and its `provider_id`.",
    "E1012": "Send the token of the card processor instead of the card number.",
    "E1013": "Send `Content-Type: application/json`, or `multipart/form-data` for a file.",
    "E1014": "Allow the content type of the operation in `Accept`. For most operations it is `application/json`.",
    "E1015": "Send only one credential.",
    "E1016": "Send the request to a host name of this installation.",
    "E1017": "Add the principal reasons in the field that the message states, or the `reason`.",
    "E1018": "Add the figures that `details` lists.",
    "E1019": "Change the terms to meet the limit in `details`.",
    "E1020": "Add the missing items in `details`, and submit the application again.",
    "E1021": "Upload a file without malware.",
    "E1022": "Add `purpose`: `credit_transaction` or `written_instructions`.",
    "E1023": "Lower the rate or the fees, so that the annual percentage rate is not above `apr_cap`.",
    "E2001": "Send an API key as `X-API-Key`, or a token as `Authorization: Bearer`. Check the log-in data.",
    "E2002": "Log in again, refresh the token, or send another API key.",
    "E2003": "Refresh the token. If its log-in has expired, log in again.",
    "E2004": "Send the `id` of `GET /v1/auth/me` in this field.",
    "E2005": "Use a credential with the required scope, or ask the operator for the permission.",
    "E2006": "Sign the request again. The API rejects the same signature again.",
    "E2007": "Sign the request again, or repeat it with its `Idempotency-Key`.",
    "E2008": "Correct the clock of your server, and sign the request again.",
    "E2009": "Create a key. If a password reset suspended the key, confirm it at `/developers/keys`.",
    "E2010": "Send the request from an account that the message allows, for example of another reviewer.",
    "E2011": "Ask an owner of the lender for a role that allows the request, or ask the operator for the lender.",
    "E2012": "Log in with a second factor, or use an API key that you created in such a log-in.",
    "E2014": "Log in again, and send the request within 10 minutes.",
    "E3001": "Resolve the cause that the message states, or send a status that `details.allowed` lists.",
    "E3002": "Send a status that `details.allowed` lists.",
    "E3004": "Read the record, and send only a change that its status allows.",
    "E3006": "Start the next verification at the time that the message states.",
    "E3007": "Sign the transaction of `POST /v1/payments/crypto/initiate` without changes.",
    "E3008": "Initiate a new payment, and sign it in time.",
    "E3010": _SAME_KEY,
    "E3011": "Accept an approval or an open counteroffer. If its day of the first payment has passed, the lender must "
    "decide again.",
    "E3012": "Read the terms with `GET /v1/applications/{application_id}/acceptance`, and send their hash.",
    "E3013": "Withdraw the open counteroffer first.",
    "E3014": "Select a status that `details.allowed` lists.",
    "E3015": "Ask the lender to request another document.",
    "E3016": "Send a smaller file, or follow the other remedy in the message.",
    "E3017": "Check the balance with `GET /v1/wallet/balance/{wallet_id}`, and the recipient.",
    "E3018": "Read the form with `GET /v1/applications/{application_id}/precontract`, and send its hash.",
    "E3020": "Send a fact that `details.allowed` lists.",
    "E3021": "Resolve the obstacles that `details.obstacles` lists. For example, withdraw open applications.",
    "E3022": "Wait for the result of the report.",
    "E4001": "Compare the path with the API reference, and the ID with a list of your records.",
    "E4002": f"{_COMPARE_ID} `GET /v1/applications`. Use a credential that can read the application.",
    "E4003": f"{_COMPARE_ID} `GET /v1/claims`. Use a credential of its owner or of a reviewer.",
    "E4004": f"{_COMPARE_ID} `GET /v1/provider-offers`. Only the account that created the offer can change it.",
    "E4005": "Send the ID that `POST /v1/kyc/create` returned, with a credential of the same account.",
    "E4006": f"{_COMPARE_ID} `GET /v1/wallet/list/{{user_id}}`.",
    "E4007": f"{_COMPARE_ID} `GET /v1/staging/items`.",
    "E4008": "Create a token with `POST /v1/bankdata/link-token`, and link a bank with it.",
    "E4009": f"{_COMPARE_ID} `GET /v1/webhooks/endpoints`.",
    "E4010": "Compare the ID with the response that created the payment. Use a credential of the same account.",
    "E4011": f"{_COMPARE_ID} `GET /v1/scoring/models`.",
    "E4012": f"{_COMPARE_ID} `GET /v1/providers`.",
    "E4014": f"{_COMPARE_ID} `GET /v1/accounts`.",
    "E4015": f"{_COMPARE_ID} `GET /v1/applications/{{application_id}}/reports`.",
    "E4050": "Use a method that the response header `Allow` lists.",
    "E5001": "Send a new payment with a new key. Unless `failure` is `not_charged`, use another payment method.",
    "E5002": f"{_SAME_KEY} If you sent no key, query `GET /v1/payments/{{payment_id}}` instead.",
    "E5003": _SAME_KEY,
    "E5004": "Open Link with the link token in `details`. After the log-in at the bank, send the same request again.",
    "E5005": "Request the report again later.",
    "E7001": "Send a hash of 64 hexadecimal characters.",
    429: _LATER,
    500: "Send the `request_id` to support.",
    503: _LATER,
}
_OPERATIONS_MAX = 60  # an error of more operations is a shared error
_RESOLVE_IT = "Correct the request, or resolve the cause that the message states."


def write_source(folder: Path) -> None:
    """Write the input for Sphinx into a folder that does not exist yet."""
    docs = ROOT / "docs"
    shutil.copytree(docs, folder)
    shutil.copy(_ICON, folder)
    shutil.copy(_BRAND, folder / "_static")
    for name in NEXT_TO_IT:
        (folder / name.lower()).write_text(_relink(name, (ROOT / name).read_text()))
    for file in docs.rglob("*.md"):
        name = file.relative_to(ROOT).as_posix()
        (folder / file.relative_to(docs)).write_text(_relink(name, file.read_text()))
    for urls in ("config.urls", "ledger.urls"):
        import_module(urls)  # importing the views registers their errors
    _write_error_pages(folder)
    for name, lines in (("events.md", _event_tables()), ("scopes.md", _scope_table())):
        with (folder / "reference" / name).open("a") as page:
            page.writelines(f"{line}\n" for line in lines)


def _event_tables() -> Iterator[str]:
    """Yield the lines of a section for each event family. It contains the event types, and the fields of the object."""
    from config.core.registration import declared

    for family in sorted(declared("event_types"), key=lambda family: family.rank):
        yield f"\n## `{family.name}` events\n\n| type | emitted when |\n|---|---|"
        for word in family.meanings:
            event_type = family.type_of(word)
            yield f"| `{event_type.name}` | {event_type.description} |"
        yield "\n| field of `object` | type | meaning |\n|---|---|---|"
        for name, schema in family.schema["properties"].items():
            types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
            field = f"`{name}`" if name in family.schema["required"] else f"(`{name}`)"
            yield f"| {field} | {' or '.join(types)} | {schema['description']} |"


def _scope_table() -> Iterator[str]:
    from config.api.docs import document_bytes

    operations: dict[str, list[str]] = {}
    for path, methods in json.loads(document_bytes("config.urls"))["paths"].items():
        for method, operation in methods.items():
            for scope in (scope for option in operation["security"] for scope in option.get("oauth2", ())):
                operations.setdefault(scope, []).append(f"`{method.upper()} {path}`")
    yield "\n## Operations by scope\n"
    yield "No scope covers the other operations. The reference states which credentials each operation accepts.\n"
    yield "| scope | operations |\n|---|---|"
    for scope in sorted(operations):
        yield f"| `{scope}` | {', '.join(operations[scope])} |"


def _relink(name: str, text: str) -> str:
    """Remove comments from a page, and convert its links for Sphinx.

    A link to a file without a page becomes plain text. `name` is the path of the page from the root of the repository.
    """
    home = posixpath.dirname(name) or "docs"

    def lead(link: re.Match[str]) -> str:
        path, mark, anchor = link[2].partition("#")
        if not path or ":" in path:
            return link[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        if target == "README.md":
            target, mark, anchor = "docs/index.md", "", ""
        elif target in NEXT_TO_IT:
            target = f"docs/{target.lower()}"
        elif not target.startswith("docs/"):
            return link[1]
        return f"[{link[1]}]({posixpath.relpath(target, home)}{mark}{anchor})"

    parts = _FENCE.split(text)
    parts[::2] = [_LINK.sub(lead, _COMMENT_LINES.sub("", part)) for part in parts[::2]]
    return "".join(parts)


def _write_error_pages(folder: Path) -> None:
    """Write a page for each registered error code, and link the table of all error codes to these pages."""
    from config.api.reference import reference
    from config.core.errors import ApiError

    table = (folder / _ERRORS).read_text()
    meanings = {code: re.sub(r"\]\((?=[\w.])", "](../reference/", meaning) for code, meaning in _ROW.findall(table)}
    (folder / "errors").mkdir()
    for code, error in ApiError.registry.items():
        lines = [
            "---\norphan: true\n---",
            f"# `{code}` `{error.error}`",
            f"**HTTP status:** {error.status}",
            f"**Message:** {error.message}",
        ]
        if code in meanings:
            lines.append(f"**Cause:** {meanings[code]}")
        operations = reference("config.urls").search(code)
        requests = f'<a href="/developers/requests?code={code}">Your requests with this error</a>'
        if 0 < len(operations) <= _OPERATIONS_MAX:
            requests += f', <a href="/v1/docs?q={code}">operations with this error</a>'
        lines += [
            f"**Fix:** {_ADVICE.get(code, _ADVICE.get(error.status, _RESOLVE_IT))}",
            f"{requests}, [all error codes](../reference/errors.md)",
        ]
        (folder / "errors" / f"{code}.md").write_text("\n\n".join(lines) + "\n")
    linked = re.sub(r"^\| `(E\d{4})` \|", r"| [`\1`](../errors/\1.md) |", table, flags=re.MULTILINE)
    (folder / _ERRORS).write_text(linked)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    write_source(Path(sys.argv[1]))
