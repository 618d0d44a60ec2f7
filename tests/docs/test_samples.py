"""Test the code samples of both OpenAPI documents without running them. `tests/system/docs` runs scripts of them."""

import ast
import copy
import json

import pytest

from config.api.docs import document_bytes
from config.api.samples import samples

SERVICES = {"platform": "config.urls", "ledger": "ledger.urls"}
LANGUAGES = ("curl", "Python", "TypeScript")
LINES_MAX = 20


@pytest.fixture(scope="module")
def documents():
    return {name: json.loads(document_bytes(urlconf)) for name, urlconf in SERVICES.items()}


def operations_of(document):
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield path, method, operation


def sources(document, label):
    """Yield (operation, sample) for one language."""
    for _path, _method, operation in operations_of(document):
        for sample in operation["x-codeSamples"]:
            if sample["label"] == label:
                yield operation, sample["source"]


def test_every_operation_has_a_short_code_sample_in_each_language(documents):
    for service in SERVICES:
        for path, method, operation in operations_of(documents[service]):
            assert tuple(item["label"] for item in operation["x-codeSamples"]) == LANGUAGES, (path, method)
            for sample in operation["x-codeSamples"]:
                assert len(sample["source"].splitlines()) <= LINES_MAX, (path, sample)
                assert "http://127.0.0.1:8000/" in sample["source"], service


def test_code_samples_send_an_idempotency_key_only_where_required(documents):
    for service in SERVICES:
        for path, method, operation in operations_of(documents[service]):
            is_asked = any("apiKey" in option for option in operation["security"])
            assert {"KEY" in item["source"] for item in operation["x-codeSamples"]} == {is_asked}, (path, method)


def test_operation_without_a_recorded_example_has_generated_code_samples(documents):
    """The end-to-end test reads the document first, so an operation needs samples before its first run."""
    document = copy.deepcopy(documents["platform"])
    for path, method, operation in operations_of(document):
        for part in (*operation.get("parameters", ()), *operation.get("requestBody", {}).get("content", {}).values()):
            part.pop("example", None)
        assert len(samples(document, path, method, {})) == len(LANGUAGES)


def test_python_code_samples_compile_and_send_the_example(documents):
    for service in SERVICES:
        for operation, source in sources(documents[service], "Python"):
            calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
            compile(source, operation["operationId"], "exec")
            sent = {word.arg: word.value for call in calls for word in call.keywords if word.arg in {"json", "data"}}
            for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
                if media_type != "multipart/form-data":
                    (value,) = sent.values()
                    assert ast.literal_eval(value) == content["example"], service
