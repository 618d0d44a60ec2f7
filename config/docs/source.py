"""Write the input for Sphinx.

The input consists of `docs/`, the pages in the root of the repository, and generated pages with the error codes, the
event catalog, and the scopes. `python -m config.docs.source FOLDER` writes the input into a new FOLDER. `make docs`
then runs Sphinx.
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
# The fix for an error code has priority over the fix for its HTTP status.
_FIXES: dict[str, str] = json.loads(Path(__file__).with_name("fixes.json").read_text())
_OPERATIONS_MAX = 60  # above this number of operations, the page of an error does not link to a list of the operations
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
    """Yield the lines of a section for each event family: its event types, and the fields of the object."""
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

    A link to a file without a page becomes text. `name` is the path of the page from the root of the repository.
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
    """Write a page for each error code, and link the table of error codes to these pages."""
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
            f"**Fix:** {_FIXES.get(code, _FIXES.get(str(error.status), _RESOLVE_IT))}",
            f"{requests}, [all error codes](../reference/errors.md)",
        ]
        (folder / "errors" / f"{code}.md").write_text("\n\n".join(lines) + "\n")
    linked = re.sub(r"^\| `(E\d{4})` \|", r"| [`\1`](../errors/\1.md) |", table, flags=re.MULTILINE)
    (folder / _ERRORS).write_text(linked)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    write_source(Path(sys.argv[1]))
