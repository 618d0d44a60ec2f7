"""Read README and everything under `docs/` for the tests that compare the documentation with the code."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = (README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md")))
RUN_LANGUAGES = {"sh", "python", "json", "javascript", "go", "java", "php"}
EVERYTHING = "".join(page.read_text() for page in PAGES)


def page(name: str) -> str:
    """Return the text of a page under `docs/`."""
    return (ROOT / "docs" / name).read_text()


def prose(text: str) -> str:
    """Return a page without its code blocks."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as code hosts create them."""
    results: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", prose(text), flags=re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        results.add(name if name not in results else f"{name}-1")
    return results


def links(text: str) -> list[str]:
    """Return the targets of a page's links, except for other hosts."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(text))
    return [target for target in targets if "://" not in target]


@dataclass(frozen=True)
class Block:
    """A fenced code block. `not_run` is the reason in a comment above the block, or empty."""

    language: str
    code: str
    not_run: str


def blocks(text: str) -> list[Block]:
    """Return a page's blocks of code."""
    code_blocks = re.findall(
        r"(?:^<!-- not run: (.+?) -->\n)?^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE
    )
    return [Block(language, code, reason) for reason, language, code in code_blocks]


def runnable(text: str) -> list[str]:
    """Return the code of a page's blocks that a test must run."""
    return [block.code for block in blocks(text) if block.language in RUN_LANGUAGES and not block.not_run]
