"""The project: settings, URL roots, and the shared code that every app uses.

`settings`, `urls`, `wsgi` and `gunicorn` put the apps together. The folders are shared code: they depend on no app, and
every app depends on them. An app declares its parts on its AppConfig (`core/registration.py`).
"""
