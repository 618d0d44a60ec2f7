"""Test the discovery document at GET {host_root}/.well-known/ucp."""

import pytest

pytestmark = pytest.mark.django_db
PATH = "/.well-known/ucp"


def test_discovery_document_describes_the_provider_regardless_of_request_headers(anonymous, settings):
    response = anonymous.read(PATH)
    assert response.status_code == 200
    body = response.json()
    assert set(body) >= {"base_url", "capabilities", "name", "provider_id", "supported_versions", "version", "links"}
    assert (body["base_url"], body["version"]) == (settings.BASE_URL, "1.0.0")
    assert body["supported_versions"] == ["ucp/1.0"]
    assert all(isinstance(capability, str) for capability in body["capabilities"])
    for headers in (
        {"X_Forwarded_Host": "evil.example"}, {"X_Forwarded_Server": "evil.example"},
        {"Forwarded": "host=evil.example"}, {"X_Original_URL": "http://evil.example/"},
    ):  # fmt: skip
        assert anonymous.read(PATH, **headers).content == response.content, headers
    assert anonymous.generic("GET", PATH, HTTP_HOST="localhost:1234").content == response.content


def test_every_link_of_the_discovery_document_returns_200(anonymous, api, settings):
    links = anonymous.read(PATH).json()["links"]
    assert set(links) >= {"openapi", "jwks", "catalog", "ledger"}
    for name, link in links.items():
        if name != "ledger":
            assert api.read(link.removeprefix(settings.HOST_ROOT)).status_code == 200, name


def test_discovery_document_is_cacheable_by_etag_and_supports_head_and_options(anonymous):
    first = anonymous.read(PATH)
    assert first.headers["Cache-Control"] == "public, max-age=300"
    etag = first.headers["ETag"]
    assert etag.startswith('"')
    for tags in (etag, f'"x", {etag}', "*", f"W/{etag}"):
        again = anonymous.read(PATH, If_None_Match=tags)
        assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
    assert anonymous.read(PATH, If_None_Match='"another"').status_code == 200
    assert (anonymous.call("HEAD", PATH).status_code, anonymous.call("HEAD", PATH).content) == (200, b"")
    response = anonymous.call("OPTIONS", PATH)
    assert (response.status_code, response.content, "GET" in response.headers["Allow"]) == (200, b"", True)


def test_verifier_download_supports_if_none_match(anonymous):
    path = "/scoring/verifier"
    etag = anonymous.read(path).headers["ETag"]
    for tags in (etag, f"W/{etag}", "*", f'"x", {etag}', f'W/"y",{etag} ', f'{etag}, "z"'):
        response = anonymous.read(path, If_None_Match=tags)
        assert (response.status_code, response.content, response.headers["ETag"]) == (304, b"", etag), tags
    for tags in ('"x"', "x", "", etag.strip('"'), f'{etag[:-2]}"'):
        assert anonymous.read(path, If_None_Match=tags).status_code == 200, tags
