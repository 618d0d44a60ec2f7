"""Test the discovery document at GET {host_root}/.well-known/ucp."""

import pytest

pytestmark = pytest.mark.django_db
PATH = "/.well-known/ucp"


def test_discovery_document_describes_the_provider(anonymous, settings):
    response = anonymous.read(PATH)
    assert response.status_code == 200
    body = response.json()
    assert set(body) >= {"base_url", "capabilities", "name", "provider_id", "supported_versions", "version", "links"}
    assert body["base_url"] == settings.BASE_URL
    assert body["supported_versions"] == ["ucp/1.0"]
    assert body["version"] == "1.0.0"
    assert all(isinstance(capability, str) for capability in body["capabilities"])


def test_every_link_of_the_discovery_document_returns_200(anonymous, api, settings):
    links = anonymous.read(PATH).json()["links"]
    assert set(links) >= {"openapi", "jwks", "catalog", "ledger"}
    for name, link in links.items():
        if name != "ledger":
            assert api.read(link.removeprefix(settings.HOST_ROOT)).status_code == 200, name


def test_discovery_document_is_cacheable_by_etag(anonymous):
    first = anonymous.read(PATH)
    assert first.headers["Cache-Control"] == "public, max-age=300"
    etag = first.headers["ETag"]
    assert etag.startswith('"')
    again = anonymous.read(PATH, If_None_Match=etag)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["ETag"] == etag
    for several in (f'"x", {etag}', "*", f"W/{etag}"):
        assert anonymous.read(PATH, If_None_Match=several).status_code == 304
    assert anonymous.read(PATH, If_None_Match='"another"').status_code == 200


def test_verifier_download_supports_if_none_match(anonymous):
    path = "/scoring/verifier"
    etag = anonymous.read(path).headers["ETag"]
    for tags in (etag, f"W/{etag}", "*", f'"x", {etag}', f'W/"y",{etag} ', f'{etag}, "z"'):
        response = anonymous.read(path, If_None_Match=tags)
        assert (response.status_code, response.content, response.headers["ETag"]) == (304, b"", etag), tags
    for tags in ('"x"', "x", "", etag.strip('"'), f'{etag[:-2]}"'):
        assert anonymous.read(path, If_None_Match=tags).status_code == 200, tags


@pytest.mark.parametrize("headers", [
    {"X_Forwarded_Host": "evil.example"}, {"X_Forwarded_Server": "evil.example"}, {"Forwarded": "host=evil.example"},
    {"X_Original_URL": "http://evil.example/"},
])  # fmt: skip
def test_forwarding_headers_do_not_change_the_discovery_document(anonymous, settings, headers):
    response = anonymous.read(PATH, **headers)
    assert response.status_code == 200
    assert b"evil" not in response.content
    assert response.json()["base_url"] == settings.BASE_URL


def test_host_header_does_not_change_the_discovery_document(anonymous, settings):
    response = anonymous.generic("GET", PATH, HTTP_HOST="localhost:1234")
    assert response.json()["base_url"] == settings.BASE_URL


def test_discovery_document_supports_head_and_options(anonymous):
    assert anonymous.call("HEAD", PATH).status_code == 200
    assert anonymous.call("HEAD", PATH).content == b""
    response = anonymous.call("OPTIONS", PATH)
    assert (response.status_code, response.content) == (200, b"")
    assert "GET" in response.headers["Allow"]
