"""Bodies that reach a method typed: a type has the members that the serializer hands on, and no others."""

from typing import get_type_hints, is_typeddict

import pytest
from rest_framework.fields import empty

from config.api.openapi import viewsets


def handed_on(serializer):
    """Return which members are always there after validation, and which may be."""
    fields = serializer.shared().fields
    always = {name for name, field in fields.items() if field.required or field.default is not empty}
    return always, set(fields) - always


@pytest.mark.parametrize("urlconf", ["config.urls", "ledger.urls"])
def test_a_typed_body_has_the_members_of_its_serializer(urlconf):
    typed = 0
    for view, declared in viewsets(urlconf):
        methods = [one for one in vars(view).values() if getattr(one, "endpoint", None) is declared]
        body = get_type_hints(methods[0].__wrapped__).get("body") if methods and declared.body else None
        if is_typeddict(body):
            typed += 1
            assert (body.__required_keys__, body.__optional_keys__) == handed_on(declared.body), body
    assert typed or urlconf == "ledger.urls"
