"""The content of the reference pages: one page per tag, and a page of all events.

The content comes from the OpenAPI document. Pages are rendered on the server without a script. Objects in responses
have a section on each page, and the operations link to this section. Fields of requests are nested below their
operation. Templates receive dictionaries.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from config.api.docs import document_bytes

EVENTS = "events"  # no tag has this name
Content = dict[str, Any]
_DEPTH_MAX = 6
_LONG = 12  # longer enumerations are collapsed
_CODE = re.compile(r"`([^`]+)`")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_LINK = re.compile(r"\[([^\]]+)\]\((/[\w./#-]*)\)")
_ERROR = re.compile(r"(E\d{4}) (\w+)")
_MEANING = re.compile(r"^- `(E\d{4})` (\w+) \((\d+)\): (.+)$", re.MULTILINE)
_JSON = "application/json"
_PHRASE = 100  # bonus if the summary contains the query, or the path ends with the query
_NAMED = 12  # bonus if the name or the method contains all words
_EVENT = 20  # deduction for an event, unless its type contains the query
_VERBS = {"post": "create add", "put": "update change", "patch": "update change", "delete": "delete remove"}
_INT64_MAX = 2**63 - 1
_TYPE_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_TITLES = {
    "api-keys": "API keys",
    "bankdata": "Bank data",
    "kyc": "Identity verifications",
    "openapi": "OpenAPI document",
    "oauth": "OAuth",
    "provider-offers": "Offers",
    "providers": "Lenders",
    "ucp": "Universal Commerce Protocol",
    "wallet": "Wallets",
}
_PARTS = {"path": "Path parameters", "query": "Query parameters", "header": "Headers"}
_FORMATS = {"uuid": "UUID", "date-time": "date and time", "int64": "", "uri": "URL", "email": "email address"}
# The overview describes these errors once, so each operation lists only their codes.
_SHARED = {
    "Every operation": ("E1009", "E1014", "E1016", "E6001", "E5000", "E5030"),
    "Operations that require a credential": (
        "E1015", "E2001", "E2002", "E2003", "E2004", "E2005", "E2006", "E2007", "E2008", "E2009",
    ),
    "Operations with a body or parameters": ("E1001", "E1002", "E1005", "E1006", "E1007", "E1013"),
    "Operations that accept an Idempotency-Key": ("E1008", "E1010", "E3010"),
}  # fmt: skip
_SHARED_CODES = frozenset(code for codes in _SHARED.values() for code in codes)


def paragraphs(text: str) -> SafeString:
    """Convert Markdown with headings, paragraphs, lists, code, bold text, and links to this host to HTML."""
    blocks = []
    for block in filter(None, text.strip().split("\n\n")):
        lines = block.split("\n")
        if block.startswith("## "):
            blocks.append(f"<h2>{inline(block[3:])}</h2>")
        elif all(line.startswith("- ") for line in lines):
            items = "".join(f"<li>{inline(line[2:])}</li>" for line in lines)
            blocks.append(f"<ul>{items}</ul>")
        else:
            blocks.append(f"<p>{inline(block)}</p>")
    return mark_safe("\n".join(blocks))  # noqa: S308  each part is escaped by `inline`


def title_of(tag: str) -> str:
    return _TITLES.get(tag, tag.replace("-", " ").capitalize())


def inline(text: str) -> SafeString:
    text = _CODE.sub(r"<code>\1</code>", escape(text))
    text = _LINK.sub(r'<a href="\2">\1</a>', text)
    return mark_safe(_BOLD.sub(r"<strong>\1</strong>", text))  # noqa: S308  escaped above


@cache
def reference(urlconf: str) -> "Reference":
    """Return the reference of the service with this `urlconf`. The result is cached."""
    return Reference(json.loads(document_bytes(urlconf)))


class Reference:
    def __init__(self, document: dict[str, Any]) -> None:
        self.rendered: dict[str, str] = {}  # HTML of sections by name and frame
        self.title: str = document["info"]["title"]
        self.server: str = document["servers"][0]["url"]
        self.introduction = paragraphs(document["info"]["description"])
        self._schemas: dict[str, Any] = document["components"]["schemas"]
        meanings = _MEANING.findall(self._schemas["ErrorCode"]["description"])
        self._messages = {code: message for code, _slug, _status, message in meanings}
        known = {code: _problem(code, slug, status, message) for code, slug, status, message in meanings}
        shared = {title: [known[code] for code in codes if code in known] for title, codes in _SHARED.items()}
        self.shared_errors = {title: problems for title, problems in shared.items() if problems}
        self._error: dict[str, Any] = self._schemas["Error"]["examples"][0]
        tags: dict[str, list[tuple[str, str, dict[str, Any]]]] = {tag["name"]: [] for tag in document["tags"]}
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                tags[operation["tags"][0]].append((path, method, operation))
        texts = {tag["name"]: tag["description"] for tag in document["tags"]}
        self.pages = {name: self._page(name, texts[name], found) for name, found in tags.items() if found}
        events = [(name, "event", item["post"]) for name, item in document.get("webhooks", {}).items()]
        if events:
            text = "The events of the feed and of webhooks. Each has the fields of its object in `data.object`."
            self.pages[EVENTS] = self._page(EVENTS, text, events)

    def search(self, query: str) -> list[tuple[Content, Content]]:
        """Return the operations and events that contain every word of the query, with the best match first.

        Articles are ignored. An operation usually precedes an event with the same words.
        """
        phrase = query.casefold()
        words = [word for word in phrase.split() if word not in {"a", "an", "the"}]
        ranked: list[tuple[int, int, Content, Content]] = []
        for page in self.pages.values():
            for operation in page["operations"]:
                ranks = [_rank(word, operation["words"]) for word in words]
                if words and all(ranks):
                    texts = operation["words"]
                    bonus = _PHRASE * (phrase in texts["summary"] or texts["call"].endswith(phrase))
                    bonus += _NAMED * all(word in texts["name"] for word in words)
                    bonus -= _EVENT * (not texts["name"] and phrase not in operation["path"])
                    ranked.append((-sum(ranks) - bonus, len(ranked), page, operation))
        return [(page, operation) for _, _, page, operation in sorted(ranked, key=lambda row: row[:2])]

    def error_code(self, query: str) -> str:
        """Return the query as an error code if it is a known code, otherwise an empty string."""
        code = query.upper()
        return code if code in self._messages else ""

    def _page(self, name: str, text: str, operations: Iterable[tuple[str, str, dict[str, Any]]]) -> Content:
        objects: dict[str, list[Content]] = {}
        return {
            "name": name,
            "title": title_of(name),
            "description": paragraphs(text),
            "operations": [self._operation(name, *operation, objects) for operation in operations],
            "objects": [{"title": title, "fields": fields} for title, fields in sorted(objects.items())],
        }

    def _operation(
        self, tag: str, path: str, method: str, operation: dict[str, Any], objects: dict[str, list[Content]]
    ) -> Content:
        is_event = method == "event"
        groups = [] if is_event else list(self._parameters(operation))
        body = operation.get("requestBody", {}).get("content", {})
        for media_type, content in body.items():
            title = "Fields of the body" if media_type == _JSON else f"Fields of the body ({media_type})"
            fields = self._fields(content["schema"], None)
            if is_event:
                title, fields = "Fields of data.object", _of_object(fields)
            groups.append({"title": title, "fields": fields})
            break
        nothing: tuple[str, dict[str, Any]] = ("", {})
        status, success = next(
            ((status, item) for status, item in operation["responses"].items() if status[0] in "23"), nothing
        )
        media_type, content = next(iter(success.get("content", {}).items()), nothing)
        schema = content.get("schema", {})
        listed = self._resolved(schema).get("type") == "array"
        reference = _name_of(self._resolved(schema)["items"] if listed else schema)
        returned: list[Content] = []
        if reference in self._schemas and not is_event:
            self._add_object(reference, objects)
        elif not is_event:
            returned = self._fields(schema, objects)
        errors = list(self._errors(operation))
        own = [error for error in errors if error["code"] not in _SHARED_CODES]
        shared: dict[str, list[str]] = {}
        for error in errors:
            if error["code"] in _SHARED_CODES:
                shared.setdefault(error["status"], []).append(error["code"])
        example = (next(iter(body.values())) if is_event else content).get("example")
        summary = operation["summary"].removesuffix(".")
        names = [*_field_words(group["fields"] for group in groups), *(error["code"] for error in errors)]
        identifier = path if is_event else operation["operationId"]
        return {
            "id": identifier,
            "method": method.upper(),
            "path": path,
            "summary": summary,
            "short": inline(summary),
            "description": "" if is_event else paragraphs(operation.get("description", "")),
            "groups": groups,
            "status": "" if is_event else status,
            "success": f"{status} {media_type}" if media_type not in {"", _JSON} else status,
            "media_type": media_type,
            "object": reference if reference in objects else "",
            "is_list": listed,
            "returned": returned,
            "errors": [] if is_event else own,
            "shared_errors": {} if is_event else shared,
            "samples": [(item["label"], item["source"]) for item in operation.get("x-codeSamples", ())],
            "example": _as_text(example),
            "error_example": "" if is_event or not errors else self._error_example((own or errors)[0]),
            "words": {
                "summary": f"{summary} {path}".casefold(),
                "id": f"{identifier} {tag} {method}".casefold(),
                "call": f"{method} {path}",
                "name": "" if is_event else f"{identifier} {method} {_VERBS.get(method, '')}".casefold(),
                "fields": f"{' '.join(names)} {reference}".casefold(),
                "description": operation.get("description", "").casefold(),
            },
        }

    def _parameters(self, operation: dict[str, Any]) -> Iterator[Content]:
        for place, title in _PARTS.items():
            fields = [
                self._field(item["name"], {**item["schema"], "description": item.get("description", "")}, None)
                for item in operation.get("parameters", ())
                if item["in"] == place
            ]
            required = {item["name"] for item in operation.get("parameters", ()) if item.get("required")}
            for shown in fields:
                shown["is_required"] = shown["name"] in required
            if fields:
                yield {"title": title, "fields": fields}

    def _errors(self, operation: dict[str, Any]) -> Iterator[Content]:
        for status, response in operation["responses"].items():
            if status[0] in "45":
                for code, slug in _ERROR.findall(response["description"]):
                    yield _problem(code, slug, status, self._messages.get(code, ""))

    def _error_example(self, error: Content) -> str:
        changes = {"error": error["slug"], "code": error["code"]}
        if error["message"]:
            changes["message"] = error["message"]
        if "doc_url" in self._error:
            changes["doc_url"] = f"{self._error['doc_url'].rpartition('/')[0]}/{error['code']}"
        return _as_text({**self._error, **changes})

    def _add_object(self, name: str, objects: dict[str, list[Content]]) -> None:
        if name not in objects:
            objects[name] = []  # prevents infinite recursion for an object that contains itself
            objects[name] = self._fields(self._schemas[name], objects)

    def _fields(
        self, schema: dict[str, Any], objects: dict[str, list[Content]] | None, depth: int = 0
    ) -> list[Content]:
        schema = self._resolved(schema)
        required = set(schema.get("required", ()))
        fields = [self._field(name, member, objects, depth) for name, member in schema.get("properties", {}).items()]
        for shown in fields:
            shown["is_required"] = shown["name"] in required
        return sorted(fields, key=lambda shown: not shown["is_required"]) if objects is None else fields

    def _field(
        self, name: str, schema: dict[str, Any], objects: dict[str, list[Content]] | None, depth: int = 0
    ) -> Content:
        resolved = self._resolved(schema)
        inner, kinds = resolved, _types(resolved)
        reference = _name_of(schema)
        if "array" in kinds:
            item = resolved.get("items", {})
            inner, reference = self._resolved(item), _name_of(item)
        has_fields = bool(inner.get("properties"))
        fields: list[Content] = []
        linked = ""
        if has_fields and objects is not None and reference in self._schemas:
            self._add_object(reference, objects)
            linked = reference
        elif has_fields and depth < _DEPTH_MAX:
            fields = self._fields(inner, objects, depth + 1)
        values = [] if reference == "ErrorCode" else inner.get("enum", [inner["const"]] if "const" in inner else [])
        description = schema.get("description") or resolved.get("description", "")
        texts = [_as_text(value) for value in values if value is not None]
        return {
            "name": name,
            "type": self._type_text(resolved, inner),
            "description": inline(description.partition("\n\n- ")[0].strip()),
            "values": texts,
            "has_many_values": len(texts) > _LONG,
            "object": linked,
            "fields": fields,
        }

    def _type_text(self, schema: dict[str, Any], inner: dict[str, Any]) -> str:
        kinds = _types(schema)
        if "array" in kinds:
            plural = " or ".join(f"{kind}s" for kind in _types(inner) if kind != "null") or "values"
            kinds = [f"array of {plural}" if kind == "array" else kind for kind in kinds]
        texts = [" or ".join(kinds) or "any JSON value"]
        texts += [_FORMATS.get(schema.get("format", ""), schema.get("format", ""))]
        low, high = schema.get("minimum"), schema.get("maximum")
        if low is not None and high is not None and abs(high) < _INT64_MAX:
            texts.append(f"{low:,} to {high:,}")
        elif low is not None and abs(low) < _INT64_MAX:
            texts.append(f"at least {low:,}")
        if "maxLength" in schema:
            texts.append(f"at most {schema['maxLength']:,} characters")
        if "maxItems" in schema:
            texts.append(f"at most {schema['maxItems']:,} items")
        if "default" in schema:
            texts.append(f"default {_as_text(schema['default'])}")
        return ", ".join(filter(None, texts))

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Resolve the references of a schema, and merge the schemas of its `allOf`, `oneOf`, and `anyOf`."""
        result = dict(schema)
        parts = [self._schemas[_name(result.pop("$ref"))]] if "$ref" in result else []
        for key in ("allOf", "oneOf", "anyOf"):
            parts += result.pop(key, ())
        for part in map(self._resolved, parts):
            for key, value in part.items():
                if key == "properties":
                    result[key] = _merged(result.get(key, {}), value)
                elif key == "type" and key in result:
                    result[key] = list(dict.fromkeys([*_types(result), *_types(part)]))
                elif key == "required" and "allOf" not in schema and "$ref" not in schema:
                    continue
                else:
                    result.setdefault(key, value)
        return result


def _problem(code: str, slug: str, status: str, message: str) -> Content:
    return {"status": status, "code": code, "slug": slug, "message": message, "text": inline(message)}


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Merge the properties of two schemas. A property that both schemas define gets the fields of both."""
    result = {**second, **first}
    for name in first.keys() & second.keys():
        result[name] = {**second[name], **first[name]}
        if "properties" in first[name] and "properties" in second[name]:
            result[name]["properties"] = _merged(first[name]["properties"], second[name]["properties"])
    return result


def _of_object(fields: list[Content]) -> list[Content]:
    """Return the fields of an event's `data.object`. All events share the other fields."""
    for name in ("data", "object"):
        fields = next((item["fields"] for item in fields if item["name"] == name), fields)
    return fields


def _field_words(groups: Iterable[list[Content]]) -> Iterator[str]:
    """Yield the names of the fields, and the values of short enumerations."""
    for fields in groups:
        for shown in fields:
            yield shown["name"]
            if not shown["has_many_values"]:
                yield from shown["values"]
            yield from _field_words([shown["fields"]])


def _rank(word: str, words: dict[str, str]) -> int:
    weights = {"summary": 8, "id": 6, "fields": 2, "description": 1}
    return sum(weight for part, weight in weights.items() if word in words[part])


def _types(schema: dict[str, Any]) -> list[str]:
    """Return the types of a schema. A schema with only `enum` or `const` has the types of its values."""
    kind = schema.get("type", [])
    if not kind:
        values = schema.get("enum", [schema["const"]] if "const" in schema else [])
        kind = dict.fromkeys(_TYPE_NAMES[type(value)] for value in values)
    return [kind] if isinstance(kind, str) else list(kind)


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _name_of(schema: dict[str, Any]) -> str:
    """Return the name of the referenced schema, which can be in a single `allOf`, or in `oneOf` with null."""
    if "$ref" in schema:
        return _name(schema["$ref"])
    parts = [part for key in ("allOf", "oneOf", "anyOf") for part in schema.get(key, ())]
    named = [part for part in parts if part.get("type") != "null"]
    return _name_of(named[0]) if len(named) == 1 else ""


def _as_text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, indent=2, ensure_ascii=False)
