"""The back office: Django admin for the platform's staff and the members of lenders.

This package imports no app. The admins in an app's `admin.py` derive from `config.backoffice.bases`. An AppConfig
declares `queues`, `charts`, `person_lines`, and `timeline_sources`.

Changes use the same model methods as the API. Forms have no field for a status.
"""
