"""How every endpoint behaves: errors, strict JSON, field types, pagination, idempotency, rate limits, OpenAPI.

An app declares an endpoint with `views.endpoint` on a method of a `views.ApiViewSet`; what the declaration says (scope,
body, query, answer, errors, idempotent or not) is what is enforced and what the OpenAPI document shows. Nothing in here
knows an app.
"""
