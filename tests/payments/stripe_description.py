"""Validate requests to Stripe and responses of Stripe against Stripe's OpenAPI description."""

import json
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from openapi_schema_validator import OAS30ReadValidator, OAS30WriteValidator

DESCRIPTION = Path(__file__).resolve().parents[3] / "shared" / "openapi" / "stripe.json"
INTENTS = "/v1/payment_intents"
FORM = "application/x-www-form-urlencoded"
# The copy of the description lacks this newer operation.
UNDESCRIBED = {f"{INTENTS}/search"}


class StripeDescription:
    """Validates forms, queries, and responses, and returns lists of errors."""

    def __init__(self):
        if not DESCRIPTION.exists():
            pytest.skip("needs ../shared/openapi/stripe.json, Stripe's OpenAPI description")
        self.description = json.loads(DESCRIPTION.read_text())

    def request_errors(self, method, path, query, headers, body):
        operation = self._operation(method, path)
        if method == "GET":
            known = {parameter["name"] for parameter in operation.get("parameters", [])}
            return [f"{name} is not a parameter" for name in nested(query) if name not in known]
        if headers.get("Content-Type", FORM) != FORM:
            return [f"{headers['Content-Type']} is not a form"]
        schema = operation["requestBody"]["content"][FORM]["schema"]
        document = typed(schema, nested(dict(parse_qsl(body.decode(), keep_blank_values=True))))
        return self._errors(OAS30WriteValidator, schema, document)

    def response_errors(self, method, path, status, document):
        responses = self._operation(method, path)["responses"]
        schema = responses.get(str(status), responses["default"])["content"]["application/json"]["schema"]
        return self._errors(OAS30ReadValidator, schema, document)

    def _operation(self, method, path):
        parts = path.removeprefix(INTENTS).strip("/").split("/")
        template = "/".join([INTENTS, "{intent}", *parts[1:]]) if parts[0] else INTENTS
        return self.description["paths"][template][method.lower()]

    def _errors(self, validator, schema, document):
        whole = {**schema, "components": self.description["components"]}
        return [error.message for error in validator(whole).iter_errors(document)]


def nested(form):
    """Parse the bracket notation: `a[b]=c` becomes `{"a": {"b": "c"}}`."""
    whole = {}
    for name, value in form.items():
        *above, last = name.replace("]", "").split("[")
        where = whole
        for item in above:
            where = where.setdefault(item, {})
        where[last] = value
    return whole


def typed(schema, value):
    """Convert a form's strings to the types of the schema; a string that can't be converted stays a string."""
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        return {name: typed(properties.get(name, {}), item) for name, item in value.items()}
    if schema.get("type") == "integer" and value.isascii() and value.lstrip("-").isdigit():
        return int(value)
    return value == "true" if schema.get("type") == "boolean" and value in {"true", "false"} else value
