"""README and everything under `docs/`, for the tests that hold them against the code."""

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
    """Return the names under which a browser finds a page's headings, as code hosts make them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", prose(text), flags=re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(name if name not in found else f"{name}-1")
    return found


def links(text: str) -> list[str]:
    """Return where a page's links lead, those to other hosts left out."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(text))
    return [target for target in targets if "://" not in target]


@dataclass(frozen=True)
class Block:
    """A fenced block of code; `not_run` is the reason that stands in a comment above it, or nothing."""

    language: str
    code: str
    not_run: str


def blocks(text: str) -> list[Block]:
    """Return a page's blocks of code."""
    found = re.findall(r"(?:^<!-- not run: (.+?) -->\n)?^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [Block(language, code, reason) for reason, language, code in found]


def runnable(text: str) -> list[str]:
    """Return the code of a page's blocks that a test has to run."""
    return [block.code for block in blocks(text) if block.language in RUN_LANGUAGES and not block.not_run]
