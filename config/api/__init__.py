"""The shared code of all endpoints: errors, strict JSON, field types, pagination, idempotency, rate limits, OpenAPI.

An app declares an endpoint with `views.endpoint` on a method of a `views.ApiViewSet`. This package enforces the
declaration (scope, body, query, response, errors, idempotency) and generates the OpenAPI document from it. It imports
no app.
"""
