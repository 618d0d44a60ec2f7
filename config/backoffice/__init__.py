"""The back office: Django admin as the place where the platform's people work.

It is shared code and knows no app. An app's `admin.py` builds on `config.backoffice.bases`, and its AppConfig declares
what it adds: `queues` of waiting records, `charts`, `person_lines` for a person's page, and `timeline_sources` of a
person's events.

All changes use the model methods that the API uses. A status is never a field of a form.
"""
