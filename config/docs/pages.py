"""Which pages there are, in which order, and where their links lead. Only what was found here is ever served."""

import posixpath
import re
from collections.abc import Iterator
from functools import cache, cached_property, partial
from itertools import groupby
from pathlib import Path

from django.urls import reverse

from config.docs.rendering import Rendered, relink, render, render_line

# Folders of `docs/` in the order of the navigation, the pages next to README.md last; "" is the beginning.
_SECTIONS = {
    "": "Begin here",
    "guides": "Guides",
    "backoffice": "Back office",
    "operate": "Operate",
    "develop": "Develop",
    "design": "Design",
    "project": "Project",
}
_FRONT = "README.md"
_PICTURES = "docs/pictures"
_BESIDE_IT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_ERRORS = "guides/errors-and-retries"
CONTENTS_LEVEL = 2  # the level of headings in a page's table of contents
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s#]+)")


class Page:
    """One file. `name` is its address below `/docs`, `path` is its path from the root; `title` is its first heading."""

    def __init__(self, library: "Library", path: str) -> None:
        self.path = path
        self.name = _name_of(path)
        self.source = (library.root / path).read_text(encoding="utf-8")
        found = _TITLE.search(self.source)
        self.title = found[1].replace("`", "") if found else self.name
        folder = "project" if path in _BESIDE_IT else posixpath.dirname(path.removeprefix("docs/"))
        self.section = _SECTIONS.get(folder, folder.capitalize())
        self._library = library

    @property
    def address(self) -> str:
        return reverse("docs:page", args=[self.name]) if self.name else reverse("docs:front")

    @property
    def label(self) -> str:
        return self.title if self.name else "Overview"

    @cached_property
    def rendered(self) -> Rendered:
        return render(self.source, self.resolve)

    @cached_property
    def markdown(self) -> str:
        """The page as it is served to programs: its links lead to the pages as Markdown."""
        return relink(self.source, partial(self.resolve, suffix=".md"))

    @property
    def headings(self) -> str:
        return ", ".join(part.heading for part in self.rendered.parts if part.level == CONTENTS_LEVEL)

    def resolve(self, link: str, *, suffix: str = "") -> str | None:
        """Return where a link of this page leads, as an address here; None for a file that is not shown."""
        path, mark, anchor = link.partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return link
        target = posixpath.normpath(posixpath.join(posixpath.dirname(self.path), path))
        if posixpath.basename(target) in self._library.pictures and posixpath.dirname(target) == _PICTURES:
            return reverse("docs:picture", args=[posixpath.basename(target)])
        page = self._library.by_path.get(target)
        return None if page is None else f"{page.address}{suffix}{mark}{anchor}"


class Library:
    """All pages of an installation; none where its `docs/` was left behind."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.pictures = {file.name: file for file in (root / _PICTURES).glob("*.png")}
        self.by_path = {path: Page(self, path) for path in _paths(root)}
        self.by_name = {page.name: page for page in self.by_path.values()}

    @property
    def pages(self) -> list[Page]:
        return list(self.by_path.values())

    @cached_property
    def navigation(self) -> list[tuple[str, list[Page]]]:
        return [(name, list(pages)) for name, pages in groupby(self.pages, key=lambda page: page.section)]

    def neighbours(self, page: Page) -> tuple[Page | None, Page | None]:
        around = [None, *self.pages, None]
        place = around.index(page)
        return around[place - 1], around[place + 1]

    def about_error(self, code: str, *, as_html: bool = True) -> str:
        """Return what the guide's table says about a code, as HTML or Markdown; nothing where it says nothing."""
        page = self.by_name.get(_ERRORS)
        if page is None:
            return ""
        source = page.source if as_html else page.markdown
        found = re.search(rf"^\| `{re.escape(code)}` \| \d+ \| (.+) \|$", source, re.MULTILINE)
        if found is None:
            return ""
        return render_line(found[1], page.resolve) if as_html else found[1]


@cache
def library(root: Path) -> Library:
    """Return the pages below a folder; they are read once per process, and each is rendered on its first request."""
    return Library(root)


def _name_of(path: str) -> str:
    """Return a page's name: `docs/operate/keys.md` is operate/keys, `docs/backoffice/README.md` is backoffice."""
    name = path.removeprefix("docs/").removesuffix(".md")
    if path in {_FRONT, *_BESIDE_IT}:
        name = name.lower()
    return "" if path == _FRONT else name.removesuffix("/README")


def _paths(root: Path) -> Iterator[str]:
    """Yield the pages' paths in the order of the navigation; within a folder, in which README.md lists them."""
    docs = [file.relative_to(root).as_posix() for file in sorted((root / "docs").rglob("*.md"))]
    if not docs:
        return
    beside = [name for name in (_FRONT, *_BESIDE_IT) if (root / name).is_file()]
    named = _LINK.findall((root / _FRONT).read_text(encoding="utf-8")) if _FRONT in beside else []
    place = {path: number for number, path in enumerate(named)}  # where it is named last, which is its list
    folders = list(_SECTIONS)

    def order(path: str) -> tuple[int, str, int, str]:
        folder = posixpath.dirname(path.removeprefix("docs/"))
        known = folders.index(folder) if folder in folders else len(folders)
        return known, folder, place.get(path, len(named)), path

    yield from beside[:1] if _FRONT in beside else []
    yield from sorted(docs, key=order)
    yield from [name for name in beside if name != _FRONT]
