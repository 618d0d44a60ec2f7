"""Check the countable rules of CONTRIBUTING.md, "How text is written", over all text for readers."""

import ast
import functools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.documents import ROOT

# These words have a plain counterpart, or hide the actor.
AVOIDED = re.compile(
    r"\b(whoever|whomever|whatsoever|nobody|somebody|anybody|everybody|anew|seldom|hence|thereof|whereof|beside"
    r"|take[sn]? up(?! to)|taking up|hand(?:s|ed|ing)? in|another look|the interface|(?:is|are) told)\b"
)
SENTENCE_MAX, SUMMARY_MAX = 30, 8
# The allowed number of longer sentences. Lower these numbers, never raise them.
LONG_SENTENCES_MAX = {"docs": 0, "docstrings": 13, "comments": 4, "openapi": 2}
SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\"'(])")
BLOCK_END = re.compile(r"\n\s*\n|\n\s*[-*0-9]+[.)]?\s")
APPS = ("config", "credit", "claims", "payments", "identity", "staging", "ledger")
PRODUCT = [file for app in APPS for file in (ROOT / app).rglob("*.py") if "migrations" not in file.parts]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")]


def without_code(text: str) -> str:
    return re.sub(r"`[^`]*`", "X", text)


def prose_of_page(text: str) -> str:
    """Return the sentences of a Markdown page, with each table cell as a separate paragraph."""
    text = re.sub(r"(?ms)^(```|:::).*?^\1", "", text)
    text = re.sub(r"(?m)^( {4}|\t).*$", "", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", without_code(text))
    return re.sub(r"(?m)^\|.*$", lambda row: row[0].replace("|", "\n\n"), text)


@functools.cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(file.read_text())))


def docstrings() -> Iterator[str]:
    for file in PRODUCT:
        for node in nodes_of(file):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield without_code(ast.get_docstring(node) or "")


def comments() -> Iterator[str]:
    """Yield each block of whole lines of comments as one text."""
    for file in PRODUCT:
        strings = {line for node in nodes_of(file) if isinstance(node, ast.Constant) for line in lines_within(node)}
        lines: dict[int, str] = {}
        for number, text in enumerate(file.read_text().splitlines(), 1):
            if text.lstrip().startswith("#") and number not in strings:
                lines[number] = lines.pop(number - 1, "") + " " + text.lstrip("# ")
        yield from map(without_code, lines.values())


def lines_within(node: ast.Constant) -> Iterable[int]:
    """Return the lines after the first line of a string."""
    return range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)


def messages() -> Iterator[str]:
    """Yield the strings of several words except for docstrings: messages, labels, help texts."""
    for file in PRODUCT:
        nodes = [node for node in nodes_of(file) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        statements = {id(node.value) for node in nodes_of(file) if isinstance(node, ast.Expr)}
        for node in nodes:
            if id(node) not in statements and len(node.value.split()) > 3 and node.value[0].isupper():
                yield without_code(node.value)


def openapi() -> Iterator[str]:
    pending = [json.loads((ROOT / "tests/openapi.json").read_text())]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            for name, value in part.items():
                if name in ("summary", "description") and isinstance(value, str):
                    yield prose_of_page(value)
                elif name not in ("example", "examples"):
                    pending.append(value)
        elif isinstance(part, list):
            pending += part


def templates() -> Iterator[str]:
    for file in ROOT.rglob("templates/**/*"):
        if file.suffix in {".html", ".txt"} and "var" not in file.relative_to(ROOT).parts:
            text = re.sub(r"(?s)<(script|style).*?</\1>|{%.*?%}|{{.*?}}|{#.*?#}", "", file.read_text())
            yield re.sub(r"<[^>]+>", "\n", text)


def names_of_tests() -> Iterator[str]:
    for file in (ROOT / "tests").rglob("test_*.py"):
        yield from (name.replace("_", " ") for name in re.findall(r"(?m)^def test_(\w+)", file.read_text()))


READERS = {
    "docs": lambda: (prose_of_page(page.read_text()) for page in PAGES),
    "docstrings": docstrings,
    "comments": comments,
    "messages": messages,
    "openapi": openapi,
    "templates": templates,
    "tests": names_of_tests,
}


@functools.cache
def texts_of(kind: str) -> tuple[str, ...]:
    return tuple(READERS[kind]())


@pytest.mark.parametrize("kind", READERS)
def test_product_text_contains_no_avoided_word(kind):
    hits = ((text, match) for text in texts_of(kind) for match in AVOIDED.finditer(text.lower()))
    assert [text[max(match.start() - 40, 0) : match.end() + 40] for text, match in hits] == []


def test_product_text_has_few_long_sentences():
    for kind, most in LONG_SENTENCES_MAX.items():
        sentences = [
            part for text in texts_of(kind) for block in BLOCK_END.split(text) for part in SENTENCE_END.split(block)
        ]
        long = [sentence for sentence in sentences if len(sentence.split()) > SENTENCE_MAX]
        assert len(long) <= most, "\n\n".join(long)


def test_operation_summary_has_at_most_8_words():
    document = json.loads((ROOT / "tests/openapi.json").read_text())
    summaries = [
        operation["summary"]
        for path in document["paths"].values()
        for operation in path.values()
        if "summary" in operation
    ]
    assert [text for text in summaries if len(text.split()) > SUMMARY_MAX] == []
