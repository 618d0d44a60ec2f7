"""Style sheets have valid CSS syntax. A stray brace, for example, would drop the next rule."""

from pathlib import Path

import pytest
import tinycss2

ROOT = Path(__file__).parents[3]
SHEETS = sorted(path for app in ("claims", "config", "credit", "identity", "ledger", "payments", "staging")
                for path in (ROOT / app).rglob("*.css"))  # fmt: skip
NESTED = {"media", "supports", "container", "layer"}


def errors_of(rules):
    """Yield the line and the error of each rule and declaration that a browser drops."""
    for rule in rules:
        if rule.type == "error":
            yield rule.source_line, rule.message
        elif rule.type == "at-rule" and rule.lower_at_keyword in NESTED:
            yield from errors_of(tinycss2.parse_rule_list(rule.content or [], skip_whitespace=True, skip_comments=True))
        elif rule.type == "qualified-rule":
            yield from ((token.source_line, token.message) for token in rule.prelude if token.type == "error")
            for part in tinycss2.parse_blocks_contents(rule.content, skip_whitespace=True, skip_comments=True):
                tokens = part.value if part.type == "declaration" else [part]
                yield from ((token.source_line, token.message) for token in tokens if token.type == "error")


def errors_in(text):
    return list(errors_of(tinycss2.parse_stylesheet(text, skip_whitespace=True, skip_comments=True)))


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda path: path.name)
def test_each_style_sheet_parses_without_errors(sheet):
    assert errors_in(sheet.read_text()) == []


@pytest.mark.parametrize(
    "text",
    ["a {} } b {}", "@media print { a {} } } b {}", "a { color red }", "a { : red }", "a ) {}", "a",
     "@media print { a { color } }", "a { content: \"x\n\"; }", "a { b: url(x y) }", "} a {}"],
)  # fmt: skip
def test_the_css_parser_detects_an_invalid_style_sheet(text):
    assert errors_in(text)
