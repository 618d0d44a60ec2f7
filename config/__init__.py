"""Settings, URL roots, and the code that every app shares.

`settings`, `urls`, `wsgi` and `gunicorn` combine the apps. The folders are shared code: they import no app, and every
app imports them. An app declares its parts on its AppConfig (`core/registration.py`).
"""
