"""The reference at /v1/docs, and at /docs of the ledger: complete HTML from the server."""

import json
import re

import pytest

from config.api.docs import document_bytes
from tests.docs.test_pages import Reader
from tests.documents import ROOT

pytestmark = pytest.mark.django_db
SERVICES = {"config.urls": "/v1/docs", "ledger.urls": "/docs"}


@pytest.fixture(params=SERVICES)
def service(request, settings):
    """Return the URLconf of a service, and the URL of its reference."""
    settings.ROOT_URLCONF = request.param
    return request.param, SERVICES[request.param]


def text_of(client, address):
    response = client.get(address, HTTP_ACCEPT="text/html")
    assert response.status_code == 200, address
    return response.content.decode()


def operations_of(urlconf):
    for methods in json.loads(document_bytes(urlconf))["paths"].values():
        yield from methods.values()


def test_every_operation_has_an_api_reference_section_with_samples_fields_errors_and_links(client, service):
    urlconf, address = service
    overview, pages = Reader(text_of(client, address)), {}
    for operation in operations_of(urlconf):
        tag = operation["tags"][0]
        if tag not in pages:
            pages[tag] = text_of(client, f"{address}/{tag}")
        assert f"{address}/{tag}#{operation['operationId']}" in overview.links
        _, _, section = pages[tag].partition(f'<section class="operation" id="{operation["operationId"]}"')
        section = section.partition("</section>")[0]
        for parameter in operation.get("parameters", ()):
            assert f"<code>{parameter['name']}</code>" in section
        for sample in operation["x-codeSamples"]:
            assert f"<summary>{sample['label']}</summary>" in section
        for status in operation["responses"]:
            assert status in section or status == "304"
        assert "<summary>Error</summary>" in section
        for status, response in operation["responses"].items():
            for code in re.findall(r"E\d{4}", response["description"]) if status[0] in "45" else ():
                assert f"<code>{code}</code>" in section
    for tag, text in pages.items():
        assert "any value" not in text, tag
        page = Reader(text)
        assert len(page.ids) == len(set(page.ids))
        assert [link for link in page.links if link.startswith("#") and link[1:] not in page.ids] == []


def test_api_reference_shows_reasons_error_codes_and_code_as_html(client):
    text = text_of(client, "/v1/docs/applications").partition('id="counteroffers_create"')[2].partition("</section>")[0]
    assert "array of strings or objects, at most 4 items" in text
    assert "<code>income_insufficient</code>" in text
    assert "any JSON value" in text_of(client, "/v1/docs/applications")
    text = text_of(client, "/v1/docs/applications")
    codes = set(re.findall(r'<a href="(?:/docs/errors/|/v1/docs#)(E\d{4})"', text))
    examples = set(re.findall(r"&quot;code&quot;: &quot;(E\d{4})&quot;", text))
    assert examples
    assert examples <= codes
    text = text_of(client, "/v1/docs/applications")
    assert "<code>terms_sha256</code> must be the hash of the current terms." in text
    for path in ("/v1/docs?q=application.submitted", "/v1/docs/events"):
        text = text_of(client, path)
        assert "created as <code>submitted</code>" in text
        assert ">An application was submitted. If it was created as `" not in text
    page = Reader(text_of(client, "/v1/docs/events"))
    assert set(json.loads(document_bytes("config.urls"))["webhooks"]) <= set(page.ids)


SEARCHES = [
    ("quote", "provider-offers#offers_quote"),
    ("apply to an offer", "applications#applications_create"),
    ("POST /v1/applications", "applications#applications_create"),
    ("inclusion proof", "applications#applications_proof"),
    ("E1020", "applications#applications_create"),
    ("payment.refunded", "events#payment.refunded"),
    ("create application", "applications#applications_create"),
    ("PUT /applications/{application_id}/status", "applications#applications_move"),
    ("update status", "applications#applications_move"),
]


def test_api_reference_search_returns_the_operation_before_error_and_guide_pages(client):
    for query, first in SEARCHES:
        page = Reader(text_of(client, f"/v1/docs?q={query.replace(' ', '+')}"))
        results = [link for link in page.links if "#" in link and not link.endswith("#shared-errors")]
        assert results[0] == f"/v1/docs/{first}", (query, first)
    text = text_of(client, "/v1/docs?q=%3Cnothing%3E")
    assert "No operation has all of these words" in text
    assert "<nothing>" not in text
    assert "/docs/search.html?q=%3Cnothing%3E" in text
    assert '<a href="/docs/errors/E1020">E1020: cause and fix</a>' in text_of(client, "/v1/docs?q=e1020")
    assert "cause and fix" not in text_of(client, "/v1/docs?q=E9999")


def test_errors_shared_by_all_operations_are_described_once_in_the_api_reference(client, service):
    urlconf, address = service
    overview = text_of(client, address)
    shared = set(re.findall(r'<li id="(E\d{4})">', overview))
    assert {"E1001", "E1014", "E5000"} <= shared
    page = Reader(overview)
    assert len(page.ids) == len(set(page.ids))
    for tag in {operation["tags"][0] for operation in operations_of(urlconf)}:
        text = text_of(client, f"{address}/{tag}")
        assert set(re.findall(rf'<a href="{address}#(E\d{{4}})"><code>\1</code></a>', text)) <= shared
        described = re.findall(r"<li>\d+ (?:<a[^>]*>)?<code>(E\d{4})</code>", text)
        assert shared.isdisjoint(described), tag


def test_api_reference_introduction_links_to_the_developer_pages_and_guides(client):
    text = text_of(client, "/v1/docs")
    assert '<a href="/developers/keys">developer pages</a>' in text
    assert "<h2>Errors</h2>" in text
    for page in set(re.findall(r'<a href="/docs/((?:guides|reference)/[\w-]+)">', text)):
        assert (ROOT / "docs" / f"{page}.md").is_file(), page
    assert client.get("/v1/docs/nothing").status_code == 404
    assert client.get("/v1/docs/nothing", HTTP_ACCEPT="text/html").status_code == 404
    assert client.post("/v1/docs/applications").status_code == 405
