"""The documentation at /docs: every page renders, every link leads somewhere, and nothing but pages is served."""

import json
import re
from html.parser import HTMLParser
from io import StringIO
from itertools import pairwise
from urllib.parse import unquote, urlsplit

import pytest
from django.core.management import call_command

from config.core.errors import ApiError
from config.docs.pages import Library, library
from config.docs.rendering import render
from tests.documents import PAGES, ROOT, anchors

PERSON = {"HTTP_ACCEPT": "text/html,application/xhtml+xml,*/*;q=0.8"}
LETTERS = 100_000
COPY_BUTTONS = "/static/docs/copy.js"  # the one script, without which a page lacks nothing but them

pytestmark = pytest.mark.django_db


class Reader(HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.tags, self.scripts = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.append(tag)
        if "id" in values:
            self.ids.append(values["id"])
        if tag in {"a", "link"}:
            self.links.append(values["href"])
        if tag == "script":
            self.scripts.append(values.get("src", "its own text"))


def read(client, address):
    """Return a page as a person's browser gets it."""
    response = client.get(address, **PERSON)
    assert response.status_code == 200, address
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    return Reader(response.content.decode())


def addresses():
    return [page.address for page in library(ROOT).pages]


def test_every_file_is_a_page():
    rendered = {ROOT / page.path for page in library(ROOT).pages}
    assert rendered == {*PAGES, ROOT / "CHANGELOG.md"}


@pytest.mark.parametrize("address", addresses())
def test_a_page_renders_in_its_frame(client, address):
    page = read(client, address)
    assert page.tags.count("h1") == 1
    assert page.scripts == [COPY_BUTTONS]
    assert len(page.ids) == len(set(page.ids))
    assert set(addresses()) <= set(page.links)


def test_every_link_and_anchor_resolves(client):
    """Crawled from the front page, over everything that is linked below /docs."""
    waiting, seen = {"/docs", "/docs/errors", "/docs/search?q=ledger"}, {}
    while waiting:
        address = waiting.pop()
        page = seen[address] = read(client, address)
        for link in page.links:
            parts = urlsplit(link)
            is_page = (parts.path + "/").startswith("/docs/") and not parts.path.endswith(".md")
            if not parts.netloc and is_page:
                waiting |= {parts.path} - set(seen)
    assert set(addresses()) <= set(seen)
    assert len(seen) > len(addresses()) + 40
    for address, page in seen.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.netloc:
                continue
            target = parts.path or urlsplit(address).path
            if target in seen:
                assert not parts.fragment or unquote(parts.fragment) in seen[target].ids, (address, link)
            else:
                assert client.get(target).status_code in {200, 302}, (address, link)


def test_anchors_are_those_of_code_hosts():
    for page in library(ROOT).pages:
        rendered = {part.anchor for part in page.rendered.parts}
        assert rendered == anchors(page.source), page.path


def test_a_link_to_a_file_leads_to_its_page(client):
    shown = client.get("/docs/guides/going-live").content.decode()
    assert 'href="/docs/operate/settings"' in shown
    text = client.get("/docs/operate/deploying").content.decode()
    assert 'href="/docs/operate/monitoring#health"' in text
    assert 'href="../../deploy' not in text
    assert '<span title="In the source code"><code>deploy/</code></span>' in text


def test_pages_keep_the_order_of_the_readme(client):
    sections = [name for name, _ in library(ROOT).navigation]
    assert sections == ["Begin here", "Guides", "Back office", "Operate", "Develop", "Design", "Project"]
    names = [page.name for page in library(ROOT).pages]
    assert names[:3] == ["", "tutorial", "guides/accounts"]
    for before, after in pairwise(names):
        assert f'rel="prev" href="/docs/{before}"'.replace('/"', '"') in client.get(f"/docs/{after}").content.decode()


@pytest.mark.parametrize("path", [
    "/docs/nothing", "/docs/../manage.py", "/docs/..%2Fmanage.py", "/docs/%2Fetc%2Fpasswd", "/docs/guides",
    "/docs/guides/../tutorial", "/docs/guides//quotes", "/docs/README.md", "/docs/README", "/docs/guides/quotes%00",
    "/docs/errors/", "/docs/errors/E9999", "/docs/errors/%00", "/docs/" + "a/" * 2000, "/docs/../manage.py.md",
    "/docs/..%2FCHANGELOG.md", "/docs/guides/../tutorial.md", "/docs/nothing.md", "/docs/.md",
    "/docs/%2Fetc%2Fpasswd.md", "/docs/guides/quotes%00.md", "/docs/backoffice/README.md", "/docs/errors/E9999.md",
])  # fmt: skip
def test_nothing_but_pages_is_served(client, path):
    page = client.get(path, **PERSON)
    assert page.status_code == 404
    assert b"No such page" in page.content
    program = client.get(path)
    assert (program.status_code, program.json()["code"]) == (404, "E4001")


def test_the_folder_with_a_slash_leads_to_the_front(client):
    assert client.get("/docs/").headers["Location"] == "/docs"


@pytest.mark.parametrize(
    "path",
    ["/docs", "/docs/tutorial", "/docs/search", "/docs/errors", "/docs/errors/E1001", "/v1/docs", "/v1/docs/try"],
)
def test_pages_are_only_read(client, path):
    answer = client.post(path)
    assert (answer.status_code, answer.json()["code"]) == (405, "E4050")
    assert "GET" in answer.headers["Allow"]
    assert client.head(path).status_code == 200


@pytest.mark.parametrize("path", ["/docs", "/docs/guides/quotes", "/docs/search?q=proof", "/docs/errors/E1001", "/"])
def test_pages_load_nothing_from_elsewhere_and_set_no_cookie(client, settings, path):
    page = client.get(path, **PERSON)
    assert page.headers["Content-Security-Policy"] == settings.CONTENT_SECURITY_POLICY
    assert not page.cookies
    text = page.content.decode().replace(f'<script src="{COPY_BUTTONS}" defer></script>', "")
    assert not re.findall(r' style="|<style|<script| on\w+="', text)
    assert COPY_BUTTONS in page.content.decode() or path not in {"/docs", "/docs/guides/quotes"}


def test_the_reference_has_the_policy_that_its_viewer_needs_and_no_more(client, settings):
    policy = client.get("/v1/docs").headers["Content-Security-Policy"]
    added = {"style-src 'self' 'unsafe-inline'", "worker-src blob:"}
    assert set(policy.split("; ")) - set(settings.CONTENT_SECURITY_POLICY.split("; ")) == added


class TestTheDemosKey:
    """The page on which operations are tried knows it on the machine of a server for development, and nowhere else."""

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

    @pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000"])
    def test_a_person_at_the_machine_sees_it_filled_in(self, client, host):
        assert self.shown(client, host)
        assert "demo account <code>demo</code>" in client.get("/v1/docs/try", HTTP_HOST=host).content.decode()

    def test_nobody_sees_it_in_production(self, client, settings):
        settings.PRODUCTION = True
        assert not self.shown(client, secure=True)

    @pytest.mark.parametrize("address", ["192.0.2.7", "2001:db8::7", ""])
    def test_nobody_sees_it_from_another_machine(self, client, address):
        assert not self.shown(client, REMOTE_ADDR=address)

    def test_nobody_sees_it_through_a_tunnel(self, client, settings):
        settings.ALLOWED_HOSTS = ["tunnel.example"]
        assert not self.shown(client, host="tunnel.example")

    @pytest.mark.parametrize("path", ["/v1/docs", "/docs", "/", "/v1/openapi.json"])
    def test_no_other_page_has_it(self, client, path):
        assert self.key not in client.get(path, HTTP_HOST="127.0.0.1:8000", **PERSON).content.decode()

    def test_without_a_demo_the_page_says_how_to_log_in(self, client, settings, tmp_path):
        settings.VAR_DIR = tmp_path / "none"
        assert not self.shown(client)
        assert "Log in under <em>Authorize</em>" in client.get("/v1/docs/try").content.decode()

    def test_its_policy_lets_it_set_styles_and_no_more(self, client, settings):
        policy = client.get("/v1/docs/try").headers["Content-Security-Policy"]
        added = {"style-src 'self' 'unsafe-inline'"}
        assert set(policy.split("; ")) - set(settings.CONTENT_SECURITY_POLICY.split("; ")) == added


class TestErrors:
    def test_every_code_has_a_page_and_is_listed(self, client):
        listed = read(client, "/docs/errors").links
        for code, error in ApiError.registry.items():
            assert f"/docs/errors/{code}" in listed
            text = client.get(f"/docs/errors/{code}").content.decode()
            assert error.error in text

    def test_the_page_says_what_the_guide_says(self, client):
        text = client.get("/docs/errors/E1001").content.decode()
        assert "<code>details</code> names each field" in text
        assert "HTTP status 400" in text


class TestMarkdown:
    def test_html_is_text_and_comments_are_not_shown(self):
        html = render(
            "# T\n\n<!-- not run: no -->\n\n<script>x</script>\n\na <b>c</b> <!-- d --> [e](javascript:f)\n", str
        )
        assert "&lt;script&gt;x&lt;/script&gt;" in html.html
        assert "&lt;b&gt;c&lt;/b&gt;" in html.html
        assert "not run" not in html.html
        assert "<!--" not in html.html
        assert "d --" not in html.html
        assert 'href="javascript' not in html.html

    def test_headings_of_one_name_have_two_anchors(self):
        rendered = render("# A\n\n## `B` c\n\n## B c\n", str)
        assert [part.anchor for part in rendered.parts] == ["a", "b-c", "b-c-1"]
        assert '<h2 id="b-c-1"><a href="#b-c-1">' in rendered.html


class TestWithoutTheFolder:
    @pytest.fixture(autouse=True)
    def _left_behind(self, settings, tmp_path):
        settings.DOCS_ROOT = tmp_path

    def test_the_front_says_where_the_documentation_is(self, client):
        page = read(client, "/docs")
        assert "/v1/docs" in page.links
        assert b"<code>docs/</code> of the source code" in client.get("/docs").content

    def test_pages_are_not_there_and_errors_are(self, client):
        assert client.get("/docs/tutorial").status_code == 404
        assert client.get("/docs/errors/E1001").status_code == 200
        assert client.get("/docs/search?q=validation").status_code == 200


def test_a_new_folder_is_found_and_stands_last(tmp_path):
    (tmp_path / "docs" / "more").mkdir(parents=True)
    (tmp_path / "docs" / "guides").mkdir()
    (tmp_path / "docs" / "more" / "one.md").write_text("# One\n")
    (tmp_path / "docs" / "guides" / "two.md").write_text("no title\n")
    pages = Library(tmp_path)
    assert [(page.name, page.title, page.section) for page in pages.pages] == [
        ("guides/two", "guides/two", "Guides"),
        ("more/one", "One", "More"),
    ]


class TestSearch:
    def found(self, client, query):
        answer = client.get("/docs/search", {"q": query}, **PERSON)
        assert answer.status_code == 200
        assert answer.headers["X-Robots-Tag"] == "noindex"
        text = answer.content.decode()
        assert '<meta name="robots" content="noindex">' in text
        return re.findall(r'<h2><a href="([^"]+)">', text), text

    @pytest.mark.parametrize(
        ("query", "first"),
        [
            ("rotate encryption key", "/docs/operate/keys#encryption-keys"),
            ("scopes", "/docs/guides/authentication#scopes"),
            ("E3001", "/docs/errors/E3001"),
            ("WITNESSES", "/docs/operate/ledger#witnesses"),
            ("annual percentage", "/docs/guides/quotes#the-annual-percentage-rate"),
            ("WEBHOOK_LEASE_SECONDS", "/docs/operate/settings"),
        ],
    )
    def test_the_best_section_comes_first(self, client, query, first):
        assert self.found(client, query)[0][0] == first

    def test_the_words_are_marked_in_their_surroundings(self, client):
        assert "<mark>four</mark>_<mark>eyes</mark>" in self.found(client, "four_eyes proposal")[1]

    @pytest.mark.parametrize("query", ["", " ", "a", "é", "…", "\x00\x1b\x7f", "\u202e", "<", "a b c d"])
    def test_without_words_it_says_what_to_type(self, client, query):
        links, text = self.found(client, query)
        assert links == []
        assert "Type one word or several" in text

    @pytest.mark.parametrize("query", ["xyzzyplugh", "<script>xyzzy</script>", "xy\x00zzy", "q" * LETTERS])
    def test_what_is_nowhere_is_said_to_be(self, client, query):
        _, text = self.found(client, query)
        assert "<script>" not in text
        assert "\x00" not in text
        assert len(text) < LETTERS

    def test_nothing_found(self, client):
        links, text = self.found(client, "xyzzyplugh")
        assert links == []
        assert "No section has the word “xyzzyplugh”" in text

    def test_sections_with_some_of_the_words_are_better_than_none(self, client):
        assert "/docs/guides/webhooks" in self.found(client, "webhooks xyzzyplugh")[0]

    @pytest.mark.parametrize("letters", ["q", "key ", "(a", "\x00", "ß", "%"])
    def test_long_queries_cost_what_short_ones_do(self, client, letters):
        self.found(client, "warm")
        self.found(client, letters * (LETTERS // len(letters)))


def test_pictures_stand_where_pages_show_them(client):
    shown = set()
    for page in library(ROOT).pages:
        shown |= set(re.findall(r'<img src="(/docs/pictures/[\w-]+\.png)" alt="[^"]{10,}"', page.rendered.html))
    assert shown == {f"/docs/pictures/{name}" for name in library(ROOT).pictures}
    assert len(shown) >= 4
    for address in shown:
        answer = client.get(address)
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/png"), address
        assert len(answer.content) < 200_000, address


@pytest.mark.parametrize("name", ["none.png", "..%2f..%2fREADME.md", "%2e%2e/tutorial.md", "case.png/", "CASE.PNG"])
def test_nothing_but_pictures_is_served_as_one(client, name):
    assert client.get(f"/docs/pictures/{name}").status_code == 404


def test_a_picture_that_is_not_here_is_what_it_shows():
    assert render("![A case](pictures/none.png)", lambda _link: None).html == "<p>A case</p>\n"
