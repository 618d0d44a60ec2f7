"""The project: settings, URL roots, and the shared code that every app uses.

`settings`, `urls`, `wsgi` and `gunicorn` put the apps together. `api`, `lifecycle`, `webhooks`, `outbound` and
`encryption` are shared code: they know no app, and every app stands on them.
"""
