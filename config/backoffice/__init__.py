"""The back office: Django admin for the platform's staff and the members of lenders.

This package imports no app. The admins in an app's `admin.py` derive from `config.backoffice.bases`. The app's
AppConfig declares `queues` of waiting records, `charts`, `person_lines` for an account's page, and `timeline_sources`
of events about an account.

All changes use the same model methods as the API. A form never has a field for a status.
"""
