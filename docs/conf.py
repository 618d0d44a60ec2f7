"""Settings of Sphinx, which `make docs` calls with a copy of this folder (`config/docs/source.py`)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

project = "Credit Platform"
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
myst_enable_extensions = ["attrs_block", "colon_fence"]
myst_heading_anchors = 4  # GitHub generates the same anchors
exclude_patterns = ["pictures"]
templates_path = ["_templates"]
html_theme = "furo"
html_title = "Credit Platform"
html_static_path = ["_static"]
html_css_files = ["docs.css"]
html_use_index = False
_HEADER = """<div class="bar">
<a class="brand" href="/docs/">Credit Platform <span>documentation</span></a>
<form role="search" action="/docs/search.html">
<input type="search" name="q" placeholder="Search" aria-label="Search the documentation" autocomplete="off">
</form>
<nav class="bar-links" aria-label="Main">
<a href="/v1/docs">Reference</a> <a href="/developers">Developers</a> <a href="/admin/">Console</a>
</nav>
</div>"""
# `brand.css` defines these variables, each with a light and a dark value.
_LOOK = {
    "font-stack": "var(--type)",
    "font-stack--monospace": "var(--mono)",
    "color-brand-primary": "var(--brand)",
    "color-brand-content": "var(--brand)",
    "color-brand-visited": "var(--brand)",
    "color-foreground-primary": "var(--ink)",
    "color-foreground-secondary": "var(--soft)",
    "color-foreground-muted": "var(--soft)",
    "color-background-primary": "var(--paper)",
    "color-background-secondary": "var(--ground)",
    "color-background-hover": "var(--wash)",
    "color-background-border": "var(--line)",
    "color-sidebar-link-text": "var(--ink)",
    "color-sidebar-link-text--top-level": "var(--ink)",
    "color-announcement-background": "var(--bar)",
    "color-code-background": "var(--code)",
    "color-inline-code-background": "var(--code)",
}
html_theme_options = {"announcement": _HEADER, "light_css_variables": _LOOK, "dark_css_variables": _LOOK}
html_sidebars = {"**": ["sidebar/scroll-start.html", "sidebar/navigation.html", "sidebar/scroll-end.html"]}
html_favicon = "icon.svg"
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_show_sphinx = False
html_show_copyright = False
html_sourcelink_suffix = ""  # a page's Markdown is `_sources/NAME.md`
html_permalinks_icon = "#"
copybutton_exclude = ".linenos, .gp"


def write_list_of_pages(app: Any, failure: Exception | None) -> None:
    """Write `pages.md` for `/llms.txt`. The file lists every page and its headings in the order of the navigation."""
    if failure is None and app.builder.name == "html":
        Path(app.outdir, "pages.md").write_text("\n".join(_lines(app.env)), encoding="utf-8")


def _lines(env: Any) -> Iterator[str]:
    for toctree in env.get_doctree("index").findall(lambda node: node.tagname == "toctree"):
        yield f"\n## {toctree['caption']}\n"
        for name in toctree["includefiles"]:
            entries = env.tocs[name].findall(lambda node: node.tagname == "reference")
            title, *headings = [entry.astext() for entry in entries]
            yield f"- [{title}]({name}.md){': ' * bool(headings)}{', '.join(headings)}"


def make_accessible(_app: Any, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Add heading levels to the navigation, and make wide tables and code blocks scrollable by keyboard."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')
    table = '<div tabindex="0" role="group" aria-label="Table" class="table-wrapper'
    body = context.get("body", "").replace("<pre>", '<pre tabindex="0">')
    context["body"] = body.replace('<div class="table-wrapper', table)


def captions_of(env: Any) -> dict[str, str]:
    """Map each page to the caption of the navigation section that contains the page."""
    trees = env.get_doctree("index").findall(lambda node: node.tagname == "toctree")
    return {name: tree["caption"] for tree in trees for name in tree["includefiles"]}


def add_breadcrumb(app: Any, page: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Add a breadcrumb above the title. On the page of an error, the breadcrumb also links to the list of errors."""
    if not hasattr(app.env, "captions"):
        app.env.captions = captions_of(app.env)
    caption = app.env.captions.get(page, "")
    root = context["pathto"]("index")
    links = [f'<a href="{root}">Documentation</a>']
    if page.startswith("errors/"):
        links.append(f'<a href="{context["pathto"]("reference/errors")}">Errors</a>')
    elif caption:
        links.append(caption)
    if doctree is not None and len(links) > 1:
        trail = ' <span aria-hidden="true">&rsaquo;</span> '.join(links)
        context["body"] = f'<nav class="breadcrumb" aria-label="Breadcrumb">{trail}</nav>{context["body"]}'


def setup(app: Any) -> None:
    app.connect("html-page-context", add_breadcrumb)
    # Run this handler after the theme's handler.
    app.connect("html-page-context", make_accessible, priority=900)
    app.connect("build-finished", write_list_of_pages)
