"""The discovery document, which is both the specification's provider metadata and a UCP business profile."""

from datetime import datetime
from typing import Any

from django.conf import settings

from config.core.registration import declared
from identity.access import signing_keys

VERSION = "2026-08-25"
SEARCH, LOOKUP = "dev.ucp.shopping.catalog.search", "dev.ucp.shopping.catalog.lookup"
# The specification's own clients request this version. The version of the UCP is `ucp.version`.
SUPPORTED_VERSIONS = ("ucp/1.0",)
_PUBLISHED = f"https://ucp.dev/{VERSION}"


def _describe(page: str, schema: str) -> dict[str, str]:
    return {"version": VERSION, "spec": f"{_PUBLISHED}/specification/{page}", "schema": f"{_PUBLISHED}/{schema}"}


def switched_on() -> list[str]:
    """Return the names of the enabled capabilities, in alphabetical order."""
    return sorted(name for name, setting in declared("capabilities") if not setting or _is_on(setting))


def _is_on(setting: str) -> bool:
    """Return whether a setting enables its service. The value is a boolean, or the name of a vendor.

    In production, the sandbox vendor enables the service only if ALLOW_SANDBOX or ENVIRONMENT=sandbox is set.
    """
    value: bool | str = getattr(settings, setting)
    if isinstance(value, bool):
        return value
    return value not in {"", "sandbox"} or not settings.PRODUCTION or settings.SANDBOX or settings.ALLOW_SANDBOX


def discovery_document(now: datetime) -> dict[str, Any]:
    """Return the document. The URL in `links.jwks` returns the same `keys`, which clients cache for a shorter time."""
    endpoint = {"transport": "rest", "endpoint": f"{settings.BASE_URL}/ucp"}
    return {
        "base_url": settings.BASE_URL,
        "capabilities": switched_on(),
        "name": settings.PROVIDER_NAME,
        "provider_id": settings.PROVIDER_ID,
        "supported_versions": list(SUPPORTED_VERSIONS),
        "version": settings.API_VERSION,
        "links": {
            "openapi": f"{settings.BASE_URL}/openapi.json",
            "jwks": f"{settings.HOST_ROOT}/.well-known/jwks.json",
            "oauth_metadata": f"{settings.HOST_ROOT}/.well-known/oauth-authorization-server",
            "catalog": f"{settings.BASE_URL}/ucp/catalog/items",
            "ledger": settings.CHAIN_URL,
        },
        "ucp": {
            "version": VERSION,
            "services": {
                "dev.ucp.shopping": [{**_describe("overview", "services/shopping/rest.openapi.json"), **endpoint}]
            },
            "capabilities": {
                SEARCH: [_describe("shopping/catalog/search", "schemas/shopping/catalog_search.json")],
                LOOKUP: [_describe("shopping/catalog/lookup", "schemas/shopping/catalog_lookup.json")],
            },
            "payment_handlers": {},
        },
        "keys": signing_keys.public_keys(now),
    }


def envelope(capability: str, *, status: str = "success") -> dict[str, Any]:
    return {"version": VERSION, "status": status, "capabilities": {capability: [{"version": VERSION}]}}
