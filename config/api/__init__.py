"""The shared code of all endpoints: errors, strict JSON, field types, pagination, idempotency, rate limits, OpenAPI.

An app declares an endpoint with `views.endpoint` on a method of a `views.ApiViewSet`. This package enforces the
declaration, and generates the OpenAPI document from all declarations. It imports no app.
"""
