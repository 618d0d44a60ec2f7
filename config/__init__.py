"""The settings, the root URLs, and the code that all apps share.

`settings`, `urls`, `wsgi`, and `gunicorn` combine the apps. The subpackages contain the shared code, and import no app.
An AppConfig declares an app's extensions (`core/registration.py`).
"""
