"""File applications, using only the catalog, the requirements, and JSON Schema."""

PDF = b"%PDF-1.4\n%%EOF\n"


def value_for(schema):
    """Return a value that is valid for a JSON Schema, from its keywords alone."""
    if "enum" in schema:
        return schema["enum"][-1]
    kind = schema["type"]
    if kind == "object":
        return {name: value_for(schema["properties"][name]) for name in schema.get("required", ())}
    if kind == "array":
        return [value_for(schema["items"]) for _ in range(schema["minItems"])]
    if kind == "boolean":
        return True
    if kind == "string":
        formats = {"date": "1990-06-15", "email": "somebody@example.test"}
        if "format" in schema:
            return formats[schema["format"]]
        if "pattern" in schema:  # The description states the pattern for readers.
            return schema["description"].rpartition(" ")[2].rstrip(".") if ":" in schema["description"] else "en"
        return text_for(schema)
    return schema.get("minimum", schema.get("maximum", 7))


def text_for(schema):
    """Return a text of a valid length."""
    return ("some text that is long enough for it" * 2)[: schema.get("maxLength", max(9, schema.get("minLength", 0)))]


def file_application(api, offer_id, consumer_id):
    """Apply to an offer of the catalog; return the response of the submission."""
    item = next(offer for offer in catalogue(api) if offer["offer_id"] == offer_id)
    wanted = api.read(f"/provider-offers/{offer_id}/requirements").json()
    body = {"consumer_id": str(consumer_id), "offer_id": offer_id, "provider_id": int(item["provider_id"])}
    if wanted["application_schema"] is not None:
        body["application_data"] = value_for(wanted["application_schema"])
    if wanted["applicants"] is not None:
        body["applicants"] = value_for(wanted["applicants"])
    response = api.send("/applications", body)
    assert response.status_code == 201, response.content
    here = f"/applications/{response.json()['id']}"
    for document in api.read(f"{here}/requirements").json()["documents"]:
        send_file(api, f"{here}/documents/{document['document_id']}/files")
    assert api.read(f"{here}/requirements").json()["currently_due"] == []
    return api.replace(f"{here}/status", {"status": "submitted", "updated_by": "a program"})


def catalogue(api):
    offset = 0
    while True:
        page = api.read(f"/ucp/catalog/items?limit=100&offset={offset}").json()
        yield from page["items"]
        if not page["has_more"]:
            return
        offset += len(page["items"])


def send_file(api, address):
    boundary = "form-boundary"
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n'
    content = head.encode() + PDF + f"\r\n--{boundary}--\r\n".encode()
    answer = api.call("POST", address, raw=content, content_type=f"multipart/form-data; boundary={boundary}")
    assert answer.status_code == 201, answer.content
