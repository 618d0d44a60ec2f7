"""Markdown to HTML: CommonMark with tables, by markdown-it-py. HTML in the source is shown as text, comments are not.
And Markdown as programs read it here.

Headings get the anchors that code hosts give them, so that one link works there and here.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.utils.html import escape
from markdown_it import MarkdownIt
from markdown_it.token import Token

Resolve = Callable[[str], str | None]
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_COMMENT_LINES = re.compile(r"^<!--.*?-->\n", re.DOTALL | re.MULTILINE)
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")
_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_INLINE_LINK = re.compile(r"\[((?:`[^`]*`|[^\[\]`])*)\]\(([^)\s]+)\)")
_NO_PAGE = "In the source code"


@dataclass(frozen=True)
class Part:
    """The content below one heading: `level` is 1 to 6, `text` has no markup."""

    level: int
    heading: str
    anchor: str
    text: str


@dataclass(frozen=True)
class Rendered:
    """A page as HTML, and its parts in their order, the first of them under the title."""

    html: str
    parts: tuple[Part, ...]


def render(source: str, resolve: Resolve) -> Rendered:
    """Render a page. `resolve` returns the address of each link here, or None where none leads."""
    tokens = _PARSER.parse(source)
    _anchor_headings(tokens)
    _lead_links(tokens, resolve)
    return Rendered(_PARSER.renderer.render(tokens, _PARSER.options, {}), tuple(_parts(tokens)))


def render_line(source: str, resolve: Resolve) -> str:
    """Render text within a line, such as a cell of a table."""
    tokens = _PARSER.parseInline(source)
    _lead_links(tokens, resolve)
    html: str = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return html


def relink(source: str, resolve: Resolve) -> str:
    """Return Markdown whose links lead where `resolve` says, and which shows as text those that lead nowhere here.

    Comments are left out, and code stays as it is.
    """

    def lead(link: re.Match[str]) -> str:
        address = resolve(link[2])
        return link[1] if address is None else f"[{link[1]}]({address})"

    parts = _FENCE.split(source)
    parts[::2] = [_INLINE_LINK.sub(lead, _COMMENT_LINES.sub("", part)) for part in parts[::2]]
    return "".join(parts)


def _plain(inline: Token) -> str:
    return "".join(child.content if child.content else " " * (child.type == "softbreak") for child in _shown(inline))


def _shown(inline: Token) -> list[Token]:
    return [child for child in inline.children or () if child.type != "html_inline"]


def _anchor_headings(tokens: Sequence[Token]) -> None:
    """Name each heading as code hosts do, and make it a link to itself."""
    seen: dict[str, int] = {}
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        name = _NOT_IN_ANCHORS.sub("", _plain(inline).lower()).replace(" ", "-")
        again = seen[name] = seen.get(name, -1) + 1
        anchor = f"{name}-{again}" if again else name
        opening.attrSet("id", anchor)
        children = inline.children or []
        if opening.tag != "h1" and not any(child.type == "link_open" for child in children):
            link = Token("link_open", "a", 1, attrs={"href": f"#{anchor}"})
            inline.children = [link, *children, Token("link_close", "a", -1)]


def _lead_links(tokens: Sequence[Token], resolve: Resolve) -> None:
    """Lead links and pictures to where they are here; other links become text, other pictures what they show."""
    for token in tokens:
        leads_nowhere = False
        for child in token.children or ():
            if child.type == "link_open":
                address = resolve(str(child.attrGet("href") or ""))
                leads_nowhere = address is None
                if address is None:
                    child.tag, child.attrs = "span", {"title": _NO_PAGE}
                else:
                    child.attrSet("href", address)
            elif child.type == "link_close" and leads_nowhere:
                child.tag = "span"
            elif child.type == "image":
                address = resolve(str(child.attrGet("src") or ""))
                if address is None:
                    child.type = "text"
                else:
                    child.attrs |= {"src": address, "loading": "lazy"}


def _parts(tokens: Sequence[Token]) -> Iterator[Part]:
    level, heading, anchor = 1, "", ""
    texts: list[str] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "inline" and before is not None and before.type == "heading_open":
            if heading or texts:
                yield Part(level, heading, anchor, " ".join(texts))
            level, heading, anchor, texts = int(before.tag[1:]), _plain(token), str(before.attrGet("id")), []
        elif token.type == "inline":
            texts.append(_plain(token))
        elif token.type in {"fence", "code_block"}:
            texts.append(token.content)
    yield Part(level, heading, anchor, " ".join(texts))


def _without_html(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return escape(_COMMENT.sub("", tokens[index].content).strip("\n"))


def _code(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    # A block that is wider than the page scrolls, and so takes the focus: it is reached without a mouse.
    return f'<pre tabindex="0"><code>{escape(tokens[index].content)}</code></pre>\n'


def _table_open(_renderer: Any, _tokens: Sequence[Token], _index: int, _options: Any, _env: Any) -> str:
    return '<div class="wide" role="group" aria-label="Table" tabindex="0"><table>\n'


def _table_close(_renderer: Any, _tokens: Sequence[Token], _index: int, _options: Any, _env: Any) -> str:
    return "</table></div>\n"


def _parser() -> MarkdownIt:
    # HTML is recognised so that comments can be left out; the rules below let none of it through.
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for name in ("html_block", "html_inline"):
        parser.add_render_rule(name, _without_html)
    for name in ("fence", "code_block"):
        parser.add_render_rule(name, _code)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    return parser


_PARSER = _parser()
