"""Code samples of the OpenAPI document: a call of each operation with curl, Python, and TypeScript.

The samples are in `x-codeSamples`, which Redoc displays next to an operation. Each language has a template in
`templates/api/samples`. The recorded examples contain the values of optional query parameters. The document contains
all other values.
"""

import json
import shlex
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

from django.template.loader import render_to_string

JSON, FORM, FILES = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
_LINE_MAX = 80  # a longer body has a line for each field
# The value of a header in each language. Some machines lack uuidgen, so the shell creates a UUID with Python.
_KEY = {"name": "X-API-Key", "shell": "$KEY", "python": 'os.environ["KEY"]', "typescript": 'process.env.KEY ?? ""'}
_ONCE = {
    "name": "Idempotency-Key",
    "shell": "$(python3 -c 'import uuid; print(uuid.uuid4())')",
    "python": "str(uuid.uuid4())",
    "typescript": "crypto.randomUUID()",
}


def add_samples(result: dict[str, Any], examples: dict[str, Any]) -> None:
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            recorded = examples.get(operation["operationId"], {}).get("parameters", {})
            operation["x-codeSamples"] = samples(result, path, method, recorded)


def samples(result: dict[str, Any], path: str, method: str, recorded: dict[str, Any]) -> list[dict[str, str]]:
    """Return the samples of an operation. `recorded` contains the recorded values of its query parameters."""
    call = _call(result, path, method, recorded)
    return [
        {"lang": lang, "label": label, "source": render_to_string(f"api/samples/{label.lower()}.txt", call).strip()}
        for lang, label in (("Shell", "curl"), ("Python", "Python"), ("TypeScript", "TypeScript"))
    ]


def _call(result: dict[str, Any], path: str, method: str, recorded: dict[str, Any]) -> dict[str, Any]:
    """Return the templates' variables. `sends` is the kind of the request's body: json, form, files, or empty.

    `gets` is the kind of the response's body: json, text, file, or none.
    """
    operation: dict[str, Any] = result["paths"][path][method]
    parameters = operation.get("parameters", ())
    for parameter in parameters:
        if parameter["in"] == "path" and "example" in parameter:
            path = path.replace(f"{{{parameter['name']}}}", quote(str(parameter["example"])))
    query = {
        item["name"]: recorded[item["name"]]
        for item in parameters
        if item["in"] == "query" and item["name"] in recorded
    }
    url = f"{result['servers'][0]['url']}{path}{f'?{urlencode(query)}' if query else ''}"
    headers = [_KEY] if any("apiKey" in option for option in operation["security"]) else []
    headers += [_ONCE] if any(item["name"] == _ONCE["name"] for item in parameters) else []
    contents: dict[str, Any] = operation.get("requestBody", {}).get("content", {}) or {"": {}}
    media_type, content = next(iter(contents.items()))
    body = content.get("example", {})
    return {
        "method": method,
        "url": _json(url),
        "quoted_url": shlex.quote(url),
        "headers": headers,
        "header_object": _object([f'"{header["name"]}": {header["typescript"]}' for header in headers], media_type),
        "sends": {JSON: "json", FORM: "form", FILES: "files"}.get(media_type, ""),
        "file_member": _file_member(result, content) if media_type == FILES else "",
        "quoted_body": shlex.quote(_written(body, _json, "  ")),
        "quoted_members": [shlex.quote(f"{name}={value}") for name, value in body.items()]
        if media_type == FORM
        else [],
        "python_body": _written(body, _literal, "    "),
        "typescript_body": _written(body, _json, "  "),
        "gets": _answer(method, operation),
    }


def _file_member(result: dict[str, Any], content: dict[str, Any]) -> str:
    schema: dict[str, Any] = result["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
    return next(str(name) for name, member in schema["properties"].items() if member.get("format") == "binary")


def _answer(method: str, operation: dict[str, Any]) -> str:
    successes = [response for status, response in operation["responses"].items() if status.startswith("2")]
    kinds = [kind for success in successes for kind in success.get("content", ())]
    if JSON in kinds:
        return "json"
    if kinds:
        return "text" if kinds[0].startswith("text/") else "file"
    return "text" if method == "get" else "none"


def _object(members: list[str], media_type: str) -> str:
    """Format headers as a TypeScript object literal, on one line if it is short."""
    members += ['"Content-Type": "application/json"'] if media_type == JSON else []
    short = f"{{ {', '.join(members)} }}"
    lines = "".join(f"    {member},\n" for member in members)
    return "" if not members else short if len(short) <= _LINE_MAX else f"{{\n{lines}  }}"


def _json(value: Any) -> str:
    """Format a value as JSON, which is also valid TypeScript. The JSON of a string is also valid Python."""
    return json.dumps(value, ensure_ascii=False)


def _literal(value: Any) -> str:
    """Format a JSON value as a Python literal with strings in double quotes."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_json(name)}: {_literal(member)}' for name, member in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return _json(value) if isinstance(value, str) else repr(value)


def _written(body: Any, write: Callable[[Any], str], indent: str) -> str:
    """Format a body on one line, or a long body with a line for each field."""
    short = write(body)
    if len(short) <= _LINE_MAX or not isinstance(body, dict):
        return short
    members = ",\n".join(f"{indent * 2}{_json(name)}: {write(value)}" for name, value in body.items())
    return f"{{\n{members}\n{indent}}}"
