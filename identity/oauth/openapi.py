"""Add OAuth 2.0 to the OpenAPI document: the authorization URL, and the scopes of the operations."""

from typing import Any

from django.conf import settings

from identity.access.scopes import SCOPES


def add_oauth(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Add the required scope to each operation. Only the document of the service that issues tokens contains OAuth."""
    gives_tokens = "/v1/oauth/token" in result["paths"]
    for operations in result["paths"].values():
        for operation in operations.values():
            scope = operation.pop("x-scope", None)
            if gives_tokens and scope is not None:
                operation["security"].append({"oauth2": [scope]})
    if gives_tokens:
        result["components"]["securitySchemes"]["oauth2"] = {
            "type": "oauth2",
            "description": "For apps that act on behalf of an account. Public clients require PKCE. The method of PKCE "
            "is S256.",
            "flows": {
                "authorizationCode": {
                    "authorizationUrl": f"{settings.APP_URL}/oauth/authorize",
                    "tokenUrl": f"{settings.BASE_URL}/oauth/token",
                    "refreshUrl": f"{settings.BASE_URL}/oauth/token",
                    "scopes": dict(SCOPES),
                }
            },
        }
    return result
