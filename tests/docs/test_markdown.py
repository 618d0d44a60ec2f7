"""Test the documentation for agents: pages as Markdown at their URL plus `.md`, and /llms.txt."""

import re
from posixpath import dirname, join, normpath
from urllib.parse import urlsplit

import pytest

from config.core.errors import ApiError
from tests.docs.test_pages import NAMES
from tests.documents import anchors, prose

pytestmark = pytest.mark.django_db
TYPE = "text/markdown; charset=utf-8"
LINK = re.compile(r"\[((?:`[^`]*`|[^\[\]`])*)\]\(([^)\s]+)\)")


def read(client, address):
    answer = client.get(address)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, TYPE), address
    return answer.content.decode()


def test_every_page_is_available_as_markdown_with_working_links(built, client):
    texts = {f"/docs/{name}.md": read(client, f"/docs/{name}.md") for name in NAMES}
    for address, text in texts.items():
        assert text.startswith("# "), address
        assert "\n<!--" not in prose(text)
        for _, link in LINK.findall(prose(text)):
            parts = urlsplit(link)
            if parts.netloc or parts.scheme == "mailto":
                continue
            target = normpath(join(dirname(address), parts.path)) if parts.path else address
            if target in texts:
                assert not parts.fragment or parts.fragment in anchors(texts[target]), (address, link)
            else:
                assert client.get(target).status_code == 200, (address, link)


def test_page_url_with_md_suffix_returns_the_page_as_markdown(built, client):
    for name in (*NAMES, "errors/E1001"):
        assert read(client, f"/docs/{name}.html.md") == read(client, f"/docs/{name}.md")
    assert read(client, "/docs/.md") == read(client, "/docs.md") == read(client, "/docs/index.md")
    text = read(client, "/docs/operate/deploying.md")
    assert "The files are in `deploy/`." in text
    assert "](monitoring.md#health)" in text


def test_markdown_page_with_a_matching_etag_returns_304(built, client):
    for address in ["/docs/guides/quotes.html", "/docs/guides/quotes.md", "/llms.txt", "/docs.md"]:
        first = client.get(address)
        assert first.headers["Cache-Control"] == "public, max-age=300", address
        again = client.get(address, HTTP_IF_NONE_MATCH=first.headers["ETag"])
        assert (again.status_code, again.content) == (304, b""), address
        assert "Content-Security-Policy" not in again.headers, address
        assert client.get(address, HTTP_IF_NONE_MATCH='"other"').status_code == 200, address


def test_documentation_markdown_pages_reject_post_and_set_no_cookie(built, client):
    for address in ["/docs/guides/quotes.md", "/llms.txt", "/docs/errors.md", "/docs/errors/E1001.md"]:
        assert (client.post(address).status_code, client.head(address).status_code) == (405, 200), address
        assert not client.get(address).cookies, address


def test_error_code_pages_are_available_as_markdown(built, client):
    table = read(client, "/docs/errors.md")
    for code, error in ApiError.registry.items():
        if not error.__module__.startswith("tests."):
            assert f"| [`{code}`](../errors/{code}.md) | {error.status} |" in table
            assert read(client, f"/docs/errors/{code}.md").startswith(f"# `{code}` `{error.error}`\n")
    assert "`details` lists the invalid fields" in read(client, "/docs/errors/E1001.md")


class TestAgentPages:
    def test_llms_txt_has_the_format_of_llmstxt_org(self, built, client, settings):
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

    def test_llms_txt_lists_every_page_with_working_links(self, built, client, settings):
        text = read(client, "/llms.txt")
        links = {link for _, link in LINK.findall(text)}
        assert {f"{settings.HOST_ROOT}/docs/{name}.md" for name in NAMES if name != "index"} <= links
        for link in links:
            if link.startswith(settings.HOST_ROOT):
                assert client.get(link.removeprefix(settings.HOST_ROOT)).status_code == 200, link
            else:
                assert link == f"{settings.CHAIN_URL}/openapi.json"

    def test_llms_txt_instructions_contain_the_facts_that_an_integration_needs(self, built, client):
        for said in ["Base URL: `http", "X-API-Key: ck_test_", "`Idempotency-Key`", "`code`, never by `message`",
             "/v1/openapi.json", "Retry-After", "/docs/guides/authentication.md"]:  # fmt: skip
            text = read(client, "/llms.txt")
            instructions = text.partition("## Instructions for agents")[2].partition("\n## ")[0]
            assert said in instructions, said
