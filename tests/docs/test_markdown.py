"""Pages as Markdown at their addresses plus `.md`, and /llms.txt: what agents read."""

import re
from urllib.parse import urlsplit

import pytest

from config.core.errors import ApiError
from config.docs.pages import library
from config.docs.rendering import relink, render
from tests.documents import ROOT, anchors, prose

pytestmark = pytest.mark.django_db
TYPE = "text/markdown; charset=utf-8"
LINK = re.compile(r"\[((?:`[^`]*`|[^\[\]`])*)\]\(([^)\s]+)\)")


def read(client, address):
    answer = client.get(address)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, TYPE), address
    return answer.content.decode()


@pytest.fixture(scope="module")
def pages():
    return library(ROOT).pages


def test_every_page_links_to_its_markdown(client, pages):
    for page in pages:
        text = read(client, f"{page.address}.md")
        assert text.startswith(f"# {page.source.partition(chr(10))[0].removeprefix('# ')}"), page.name
        assert "\n<!--" not in prose(text)
    alternate = '<link rel="alternate" type="text/markdown" href="/docs/guides/quotes.md">'
    assert alternate in client.get("/docs/guides/quotes").content.decode()
    assert 'href="/docs.md"' in client.get("/docs").content.decode()


def test_the_markdown_equals_the_page(pages):
    for page in pages:
        again = render(page.markdown, str)
        assert [part.text for part in again.parts] == [part.text for part in page.rendered.parts], page.name


def test_every_link_in_it_leads_somewhere(client, pages):
    seen = {}
    for page in pages:
        for _, link in LINK.findall(prose(page.markdown)):
            parts = urlsplit(link)
            if parts.netloc or parts.scheme == "mailto":
                continue
            target = parts.path or f"{page.address}.md"
            if target.endswith(".png"):
                assert client.get(target).headers["Content-Type"] == "image/png", target
                continue
            text = seen.setdefault(target, None) or read(client, target)
            seen[target] = text
            assert not parts.fragment or parts.fragment in anchors(text), (page.name, link)


def test_links_to_files_become_text_and_code_stays(client):
    text = read(client, "/docs/operate/deploying.md")
    assert "The head of each file of `deploy/`" in text
    assert "](/docs/operate/monitoring.md#health)" in text
    kept = "```sh\n[a](b.md) <!-- x -->\n```"
    assert relink(f"[a `]` b](b.md)\n<!-- not run: no -->\n{kept}\n", lambda _: None) == f"a `]` b\n{kept}\n"


@pytest.mark.parametrize("address", ["/docs/guides/quotes", "/docs/guides/quotes.md", "/llms.txt", "/docs.md", "/docs"])
def test_a_matching_etag_is_304(client, address):
    first = client.get(address)
    assert first.headers["Cache-Control"] == "public, max-age=300"
    again = client.get(address, HTTP_IF_NONE_MATCH=first.headers["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(address, HTTP_IF_NONE_MATCH='"other"').status_code == 200


@pytest.mark.parametrize("address", ["/docs/guides/quotes.md", "/llms.txt", "/docs/errors.md", "/docs/errors/E1001.md"])
def test_it_is_only_read_and_sets_no_cookie(client, address):
    assert (client.post(address).status_code, client.head(address).status_code) == (405, 200)
    assert not client.get(address).cookies


def test_error_codes_are_markdown_too(client):
    table = read(client, "/docs/errors.md")
    for code, error in ApiError.registry.items():
        assert f"| [`{code}`](/docs/errors/{code}.md) | {error.status} | `{error.error}` |" in table
        assert read(client, f"/docs/errors/{code}.md").startswith(f"# `{code}` `{error.error}`\n")
    assert "`details` names each field" in read(client, "/docs/errors/E1001.md")
    assert 'type="text/markdown" href="/docs/errors/E1001.md"' in client.get("/docs/errors/E1001").content.decode()


class TestForAgents:
    def test_it_has_the_form_that_llmstxt_asks_for(self, client, settings):
        text = read(client, "/llms.txt")
        lines = [line for line in text.splitlines() if line]
        assert lines[0] == f"# {settings.PROVIDER_NAME}"
        assert lines[1].startswith("> ")
        assert not [line for line in lines[1:] if line.startswith(("# ", "###"))]
        sections = re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]
        for section in sections:
            items = [line for line in section.splitlines() if line]
            assert items
            assert all(line.startswith("- ") for line in items), items

    def test_it_lists_every_page_and_each_link_works(self, client, settings, pages):
        text = read(client, "/llms.txt")
        links = {link for _, link in LINK.findall(text)}
        assert {f"{settings.HOST_ROOT}{page.address}.md" for page in pages} <= links
        for link in links:
            if link.startswith(settings.HOST_ROOT):
                assert client.get(link.removeprefix(settings.HOST_ROOT)).status_code == 200, link
            else:
                assert link == f"{settings.CHAIN_URL}/openapi.json"

    @pytest.mark.parametrize(
        "said",
        ["Base URL: `http", "X-API-Key: ck_test_", "`Idempotency-Key`", "`code`, never by `message`",
         "/v1/openapi.json", "Retry-After", "/docs/guides/authentication.md"],
    )  # fmt: skip
    def test_its_instructions_say_what_an_integration_needs(self, client, said):
        text = read(client, "/llms.txt")
        instructions = text.partition("## Instructions for agents")[2].partition("\n## ")[0]
        assert said in instructions

    def test_without_the_folder_it_still_says_how_to_integrate(self, client, settings, tmp_path):
        settings.DOCS_ROOT = tmp_path
        assert "/v1/openapi.json" in read(client, "/llms.txt")
        assert client.get("/docs.md").status_code == 404
