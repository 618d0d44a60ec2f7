"""The settings, the root URLs, and the code that all apps share.

`settings`, `urls`, `wsgi`, and `gunicorn` combine the apps. The folders contain shared code, which imports no app. An
app declares its extensions on its AppConfig (`core/registration.py`).
"""
