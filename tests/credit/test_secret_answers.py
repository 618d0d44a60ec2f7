"""Test that responses with encrypted database values are stored encrypted under an Idempotency-Key."""

import json

from django.db import models

from config.api.secret_answers import SecretAnswer
from config.api.serializers import ModelResponseSerializer
from config.core.encryption import EncryptedTextField
from credit.api import urls  # noqa: F401  loads all serializers
from credit.models import Confirmation, Correction, Report, ReviewRequest

# Models whose rows an operation with an Idempotency-Key returns, with a value that the row has encrypted.
RETURNED = {Report: "summary", Confirmation: "value", Correction: "statement", ReviewRequest: "statement"}


def serializers_of(model: type[models.Model]):
    waiting = [ModelResponseSerializer]
    while waiting:
        serializer = waiting.pop()
        waiting += serializer.__subclasses__()
        if getattr(getattr(serializer, "Meta", None), "model", None) is model:
            yield serializer


def test_stored_idempotent_response_with_a_secret_field_is_encrypted():
    for model, name in RETURNED.items():
        assert isinstance(model._meta.get_field(name), EncryptedTextField)
        serializers = [serializer for serializer in serializers_of(model) if name in serializer.Meta.fields]
        assert serializers, model
        assert all(issubclass(serializer, SecretAnswer) for serializer in serializers), model
        body, place = json.dumps({name: "a secret"}).encode(), "operation|1|key"
        for serializer in serializers:
            kept = serializer.seal_of(None)(body, place)
            assert (b"secret" in kept, serializer.opened(kept, place)) == (False, body)
