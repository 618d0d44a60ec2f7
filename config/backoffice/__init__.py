"""The back office: Django admin as the place where the platform's people work.

It is shared code and knows no app. An app's `admin.py` builds on `config.backoffice.admin`, and tells the back office
what it adds through registries: `queues` for what waits on somebody, `charts`, and `timeline` for what happened to a
record's person.

Everything goes through the model methods that the API calls. A status is never a field of a form.
"""
