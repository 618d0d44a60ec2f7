"""Test that every page and link of /docs works, and that only pages are served."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from io import StringIO
from posixpath import join, normpath
from urllib.parse import unquote, urlsplit

import pytest
from django.core.management import call_command

from config.core.errors import ApiError
from config.docs.views import MOVED
from tests.documents import PAGES, README, ROOT

PERSON = {"HTTP_ACCEPT": "text/html,application/xhtml+xml,*/*;q=0.8"}
NAMES = sorted(
    str(file.relative_to(ROOT / "docs"))[:-3] if file.is_relative_to(ROOT / "docs") else file.stem.lower()
    for file in {*PAGES, ROOT / "CHANGELOG.md"} - {README}
)

pytestmark = pytest.mark.django_db


class Reader(HTMLParser):
    """Collects the links of a page, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.tags, self.loaded = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.append(tag)
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if source := values.get("src") or (values.get("href") if tag == "link" else None):
            self.loaded.append(source)


def read(client, address):
    """Return a page as a browser receives it."""
    response = client.get(address, **PERSON)
    assert response.status_code == 200, address
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    return Reader(response.content.decode())


def test_every_markdown_file_of_the_docs_is_a_page_in_the_navigation(built, client):
    for name in NAMES:
        page = read(client, f"/docs/{name}.html")
        assert page.tags.count("h1") == 1, name
        assert len(page.ids) == len(set(page.ids)), name
        assert not [source for source in page.loaded if "//" in source], name
    front = read(client, "/docs/")
    assert {f"{name}.html" for name in NAMES if name != "index"} <= set(front.links)


def test_every_link_and_anchor_of_the_docs_resolves(built, client):
    pages = {file.relative_to(built).as_posix(): Reader(file.read_text()) for file in built.rglob("*.html")}
    assert len(pages) > len(NAMES) + len(ApiError.registry)
    elsewhere = set()
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = parts.path if parts.path.startswith("/") else normpath(join("/docs", name, "..", parts.path))
            target = f"/docs/{name}" if not parts.path else target
            response = pages.get(target.removeprefix("/docs/"))
            if response is None:
                elsewhere.add(target)
            else:
                assert not parts.fragment or unquote(parts.fragment) in response.ids, (name, link)
    assert not {address for address in elsewhere if client.get(address, **PERSON).status_code not in {200, 302}}


def test_documentation_pages_have_a_breadcrumb(built, client):
    start = '<nav class="breadcrumb" aria-label="Breadcrumb"><a href="../index.html">Documentation</a>'
    for path, last in (
        ("guides/webhooks", "Webhooks"),
        ("errors/E1001", '<a href="../reference/errors.html">Errors</a>'),
    ):
        text = client.get(f"/docs/{path}.html", **PERSON).content.decode()
        assert f'{start} <span aria-hidden="true">&rsaquo;</span> {last}</nav>' in text
    assert "breadcrumb" not in client.get("/docs/", **PERSON).content.decode()


REDIRECTS = [
    ("/docs", "/docs/"),
    ("/docs/tutorial", "/docs/tutorial.html"),
    ("/docs/guides/quotes", "/docs/guides/quotes.html"),
    ("/docs/changelog", "/docs/changelog.html"),
    ("/docs/errors/E1020", "/docs/errors/E1020.html"),
    ("/docs/search?q=rotate+key", "/docs/search.html?q=rotate+key"),
    *((f"/docs/{old}", f"/docs/{new}.html") for old, new in MOVED.items()),
]


def test_old_documentation_urls_redirect_to_their_page(built, client):
    for old, new in REDIRECTS:
        assert client.get(old).headers["Location"] == new, (old, new)
        assert client.get(new).status_code == 200, (old, new)


NOT_SERVED = [
    "/docs/nothing", "/docs/../manage.py", "/docs/..%2Fmanage.py", "/docs/%2Fetc%2Fpasswd", "/docs/guides",
    "/docs/guides/../tutorial.html", "/docs/guides//quotes", "/docs/README.md", "/docs/guides/quotes%00",
    "/docs/errors/", "/docs/errors/E9999", "/docs/errors/%00", "/docs/" + "a/" * 2000, "/docs/../manage.py.md",
    "/docs/..%2FCHANGELOG.md", "/docs/guides/../tutorial.md", "/docs/nothing.md", "/docs/" + "a" * 2000,
    "/docs/%2Fetc%2Fpasswd.md", "/docs/guides/quotes%00.md", "/docs/errors/E9999.md", "/docs/.doctrees/index.doctree",
    "/docs/pictures/none.png", "/docs/pictures/..%2f..%2fREADME.md", "/docs/pictures/CASE.PNG",
]  # fmt: skip


def test_documentation_view_serves_only_built_files(built, client):
    for path in NOT_SERVED:
        page = client.get(path, **PERSON)
        assert page.status_code == 404, path
        assert b"No such page" in page.content, path
        program = client.get(path)
        assert (program.status_code, program.json()["code"]) == (404, "E4001"), path


def test_documentation_pages_reject_post(built, client):
    for path in ["/docs", "/docs/", "/docs/tutorial.html", "/docs/errors/E1001.html", "/v1/docs", "/v1/docs/try"]:
        answer = client.post(path)
        assert (answer.status_code, answer.json()["code"]) == (405, "E4050"), path
        assert "GET" in answer.headers["Allow"], path
        assert client.head(path).status_code in {200, 302}, path


def test_content_security_policy_of_documentation_pages_allows_only_the_scripts_of_the_theme(built, client, settings):
    for path in ["/docs/", "/docs/guides/quotes.html", "/docs/search.html", "/docs/errors/E1001.html"]:
        page = client.get(path, **PERSON)
        assert not page.cookies, path
        text = page.content.decode()
        inline = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
        hashes = [f"'sha256-{b64encode(sha256(item.encode()).digest()).decode()}'" for item in inline]
        policy = page.headers["Content-Security-Policy"].split("; ")
        assert set(policy) - set(settings.CONTENT_SECURITY_POLICY.split("; ")) == {
            " ".join(["script-src 'self'", *hashes]), "style-src 'self' 'unsafe-inline'",
        }  # fmt: skip
        assert 1 <= len(inline) <= 2, path
        assert not re.findall(r" on\w+=\"", text), path


def test_pictures_of_the_docs_are_served(built, client):
    shown = {
        path for file in PAGES for path in re.findall(r"\]\((?:\.\./|docs/)*pictures/([\w-]+\.png)\)", file.read_text())
    }
    assert shown == {file.name for file in (ROOT / "docs" / "pictures").glob("*.png")}
    for file in (built / "_images").glob("*.png"):
        answer = client.get(f"/docs/pictures/{file.name}")
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/png")


class TestErrors:
    def test_every_error_code_has_a_listed_documentation_page(self, built, client):
        listed = read(client, "/docs/reference/errors.html").links
        for code, error in ApiError.registry.items():
            if error.__module__.startswith("tests."):
                continue
            text = client.get(f"/docs/errors/{code}.html").content.decode()
            assert error.error in text
            assert f"<strong>HTTP status:</strong> {error.status}" in text
            assert f"/developers/requests?code={code}" in text
            assert f"../errors/{code}.html" in listed
        text = client.get("/docs/errors/E1001.html").content.decode()
        assert re.search(r"<code[^>]*>.*details.*</code> lists the invalid fields", text)


class TestUnbuiltDocumentation:
    @pytest.fixture(autouse=True)
    def _not_built(self, settings, tmp_path):
        settings.DOCS_ROOT = tmp_path

    def test_unbuilt_documentation_returns_503_but_serves_the_instructions_for_agents(self, client):
        for path in ["/docs/", "/docs/tutorial.html", "/docs/errors/E1001"]:
            page = client.get(path, **PERSON)
            assert (page.status_code, page.headers["Retry-After"]) == (503, "10"), path
            assert b"The documentation is being built" in page.content, path
            assert "/v1/docs" in Reader(page.content.decode()).links, path
        assert b"/v1/openapi.json" in client.get("/llms.txt").content
        assert client.get("/docs.md").status_code == 404


def test_api_reference_pages_use_the_strict_content_security_policy(client, settings):
    for path in ("/v1/docs", "/v1/docs/applications"):
        assert client.get(path).headers["Content-Security-Policy"] == settings.CONTENT_SECURITY_POLICY


class TestDemoKey:
    """The page for trying operations contains the demo key only in development, and only for local requests."""

    @pytest.fixture(autouse=True)
    def _demo(self, settings, tmp_path, bookless):
        settings.VAR_DIR = tmp_path
        call_command("seed_demo", stdout=StringIO())
        self.key = json.loads((tmp_path / "demo.json").read_text())["api_key"]

    def shown(self, client, host="127.0.0.1:8000", **environment):
        answer = client.get("/v1/docs/try", **{"HTTP_HOST": host, **environment})
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "no-store"
        return self.key in answer.content.decode()

    def test_demo_api_key_is_shown_only_to_local_requests_on_the_try_page(self, client, settings):
        for host in ("127.0.0.1:8000", "localhost:8000", "[::1]:8000"):
            assert self.shown(client, host), host
        assert "demo account <code>demo</code>" in client.get("/v1/docs/try", HTTP_HOST=host).content.decode()
        for address in ("192.0.2.7", "2001:db8::7", ""):
            assert not self.shown(client, REMOTE_ADDR=address), address
        for path in ("/v1/docs", "/docs/", "/", "/v1/openapi.json"):
            answer = client.get(path, HTTP_HOST="127.0.0.1:8000", **PERSON)
            assert self.key not in answer.content.decode(), path
        hosts, settings.ALLOWED_HOSTS = settings.ALLOWED_HOSTS, ["tunnel.example"]
        assert not self.shown(client, host="tunnel.example")
        settings.ALLOWED_HOSTS, settings.PRODUCTION = hosts, True
        assert not self.shown(client, secure=True)

    def test_try_page_without_a_demo_explains_how_to_log_in(self, client, settings, tmp_path):
        policy = client.get("/v1/docs/try").headers["Content-Security-Policy"]
        added = {"style-src 'self' 'unsafe-inline'"}
        assert set(policy.split("; ")) - set(settings.CONTENT_SECURITY_POLICY.split("; ")) == added
        settings.VAR_DIR = tmp_path / "none"
        assert not self.shown(client)
        assert "Log in under <em>Authorize</em>" in client.get("/v1/docs/try").content.decode()
