"""How every endpoint behaves: errors, strict JSON, field types, pagination, idempotency, rate limits, OpenAPI.

An app declares an endpoint with `views.endpoint` on a method of a `views.ApiViewSet`. The declaration (scope, body,
query, response, errors, idempotency) is enforced, and the OpenAPI document is generated from it. Nothing in here knows
an app.
"""
