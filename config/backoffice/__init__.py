"""The back office: Django admin for the platform's staff and the members of lenders.

It is shared code and imports no app. An app's `admin.py` derives from `config.backoffice.bases`, and its AppConfig
declares `queues` of waiting records, `charts`, `person_lines` for a person's page, and `timeline_sources` of a person's
events.

All changes use the model methods that the API uses. A form never has a field for a status.
"""
