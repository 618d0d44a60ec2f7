"""Code samples of the OpenAPI document: how each operation is called with curl, Python and TypeScript.

They stand in `x-codeSamples`, which Redoc shows beside an operation. Everything in them is the document's own (paths,
security, examples) but for what a query holds beyond the required, which the recorded examples say.
"""

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

JSON, FORM, FILES = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
SENT_FILE, KEPT_FILE = "payslip.pdf", "download"
_LINE_MAX = 80  # letters of a body on one line; a longer one has a line for each of its members


@dataclass(frozen=True)
class Header:
    """A header, and how each language writes its value."""

    name: str
    shell: str
    python: str
    typescript: str


_KEY = Header("X-API-Key", "$KEY", 'os.environ["KEY"]', 'process.env.KEY ?? ""')
# Not every machine has uuidgen; the guides make UUIDs with Python, too.
_ONCE = Header(
    "Idempotency-Key",
    "$(python3 -c 'import uuid; print(uuid.uuid4())')",
    "str(uuid.uuid4())",
    "crypto.randomUUID()",
)


@dataclass(frozen=True)
class Call:
    """What a sample sends: `media_type` is that of the body, if there is one; `answer` is json, text, file or none."""

    method: str
    url: str
    headers: tuple[Header, ...]
    media_type: str
    body: Any
    answer: str


def add_samples(result: dict[str, Any], examples: dict[str, Any]) -> None:
    """Give every operation its samples; `examples` are the recorded ones."""
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            recorded = examples.get(operation["operationId"], {}).get("parameters", {})
            operation["x-codeSamples"] = samples(result, path, method, recorded)


def samples(result: dict[str, Any], path: str, method: str, recorded: dict[str, Any]) -> list[dict[str, str]]:
    """Return the samples of one operation; `recorded` holds the values of its query."""
    call = _call(result, path, method, recorded)
    return [
        {"lang": "Shell", "label": "curl", "source": _curl(call)},
        {"lang": "Python", "label": "Python", "source": _python(call)},
        {"lang": "TypeScript", "label": "TypeScript", "source": _typescript(call)},
    ]


def _call(result: dict[str, Any], path: str, method: str, recorded: dict[str, Any]) -> Call:
    operation: dict[str, Any] = result["paths"][path][method]
    query = {}
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        if parameter["in"] == "path" and "example" in parameter:
            path = path.replace(f"{{{name}}}", quote(str(parameter["example"])))
        elif parameter["in"] == "query" and name in recorded:
            query[name] = recorded[name]
    address = f"{result['servers'][0]['url']}{path}"
    headers = [_KEY] if any("apiKey" in option for option in operation["security"]) else []
    if any(parameter["name"] == _ONCE.name for parameter in operation.get("parameters", ())):
        headers.append(_ONCE)
    contents: dict[str, Any] = operation.get("requestBody", {}).get("content", {}) or {"": {}}
    media_type, content = next(iter(contents.items()))
    return Call(
        method.upper(),
        f"{address}?{urlencode(query)}" if query else address,
        tuple(headers),
        media_type,
        _file_member(result, content) if media_type == FILES else content.get("example", {}),
        _answer(method, operation),
    )


def _file_member(result: dict[str, Any], content: dict[str, Any]) -> str:
    """Return the name of the member that takes the file."""
    schema: dict[str, Any] = result["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
    return next(str(name) for name, member in schema["properties"].items() if member.get("format") == "binary")


def _answer(method: str, operation: dict[str, Any]) -> str:
    successes = [one for status, one in operation["responses"].items() if status.startswith("2")]
    kinds = [kind for one in successes for kind in one.get("content", ())]
    if JSON in kinds:
        return "json"
    if kinds:
        return "text" if kinds[0].startswith("text/") else "file"
    return "text" if method == "get" else "none"


# --- curl ------------------------------------------------------------------------------------------------------------


def _curl(call: Call) -> str:
    method = "" if call.method == "GET" else f"-X {call.method} "
    lines = [f"curl {method}{shlex.quote(call.url)}"]
    lines += [f'-H "{header.name}: {header.shell}"' for header in call.headers]
    if call.media_type == JSON:
        lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(_written(call.body, _json, '  '))}"]
    elif call.media_type == FORM:
        lines += [f"--data-urlencode {shlex.quote(f'{name}={value}')}" for name, value in call.body.items()]
    elif call.media_type == FILES:
        lines.append(f"-F {call.body}=@{SENT_FILE}")
    if call.answer == "file":
        lines.append(f"-o {KEPT_FILE}")
    return " \\\n  ".join(lines)


# --- Python ----------------------------------------------------------------------------------------------------------


def _python(call: Call) -> str:
    values = [header.python for header in call.headers]
    modules = [name for name in ("os", "uuid") if any(f"{name}." in value for value in values)]
    imports = [f"import {name}" for name in modules]
    if call.media_type == FILES or call.answer == "file":
        imports.append("from pathlib import Path")
    headers = ", ".join(f'"{header.name}": {header.python}' for header in call.headers)
    arguments = [_json(call.url), *([f"headers={{{headers}}}"] if headers else []), *_python_body(call), "timeout=30"]
    shown = {
        "json": "print(answer.json())",
        "text": "print(answer.text)",
        "file": f'Path("{KEPT_FILE}").write_bytes(answer.content)',
        "none": "print(answer.status_code)",
    }[call.answer]
    return _lines(
        *imports,
        *([""] if imports else []),
        "import requests",
        "",
        f"answer = requests.{call.method.lower()}(",
        *(f"    {argument}," for argument in arguments),
        ")",
        "answer.raise_for_status()",
        shown,
    )


def _python_body(call: Call) -> list[str]:
    if call.media_type == FILES:
        return [f'files={{"{call.body}": ("{SENT_FILE}", Path("{SENT_FILE}").read_bytes())}}']
    names = {JSON: "json", FORM: "data"}
    return [f"{names[call.media_type]}={_written(call.body, _literal, '    ')}"] if call.media_type else []


# --- TypeScript ------------------------------------------------------------------------------------------------------


def _typescript(call: Call) -> str:
    functions = ["readFile"] * (call.media_type == FILES) + ["writeFile"] * (call.answer == "file")
    first = [f'import {{ {", ".join(functions)} }} from "node:fs/promises";', ""] if functions else []
    if call.media_type == FILES:
        blob = f'new Blob([new Uint8Array(await readFile("{SENT_FILE}"))])'
        first += ["const form = new FormData();", f'form.append("{call.body}", {blob}, "{SENT_FILE}");']
    options = [] if call.method == "GET" else [f'method: "{call.method}"']
    headers = [f'"{header.name}": {header.typescript}' for header in call.headers]
    headers += ['"Content-Type": "application/json"'] if call.media_type == JSON else []
    if headers:
        options.append(f"headers: {_headers(headers)}")
    options += _typescript_body(call)
    asked = _json(call.url)
    if options:
        asked = _lines(f"{asked}, {{", *(f"  {option}," for option in options), "}")
    shown = {
        "json": "console.log(await answer.json());",
        "text": "console.log(await answer.text());",
        "file": f'await writeFile("{KEPT_FILE}", new Uint8Array(await answer.arrayBuffer()));',
        "none": "console.log(answer.status);",
    }[call.answer]
    return _lines(
        *first,
        f"const answer = await fetch({asked});",
        "if (!answer.ok) throw new Error(await answer.text());",
        shown,
    )


def _typescript_body(call: Call) -> list[str]:
    if call.media_type == FILES:
        return ["body: form"]
    makers = {JSON: "JSON.stringify", FORM: "new URLSearchParams"}
    return [f"body: {makers[call.media_type]}({_written(call.body, _json, '  ')})"] if call.media_type else []


def _headers(members: list[str]) -> str:
    """Return headers as an object, on a line if they are short."""
    short = f"{{ {', '.join(members)} }}"
    return short if len(short) <= _LINE_MAX else _lines("{", *(f"    {member}," for member in members), "  }")


# --- What the languages share ----------------------------------------------------------------------------------------


def _lines(*lines: str) -> str:
    return "\n".join(lines)


def _json(value: Any) -> str:
    """Return a value as JSON, which is how TypeScript writes it, and Python a text."""
    return json.dumps(value, ensure_ascii=False)


def _literal(value: Any) -> str:
    """Return a value of JSON as Python writes it, texts in double quotes."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_json(name)}: {_literal(member)}' for name, member in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return _json(value) if isinstance(value, str) else repr(value)


def _written(body: Any, write: Callable[[Any], str], indent: str) -> str:
    """Return a body on one line, or on one for each of its members where it is long."""
    short = write(body)
    if len(short) <= _LINE_MAX or not isinstance(body, dict):
        return short
    step = indent or "  "
    members = [f"{indent}{step}{_json(name)}: {write(value)}" for name, value in body.items()]
    return _lines("{", ",\n".join(members), f"{indent}}}")
