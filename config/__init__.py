"""The project: settings, URL roots, and the kit that every room uses.

`settings`, `urls`, `wsgi` and `gunicorn` put the rooms together. `api`, `lifecycle`, `webhooks`, `outbound` and
`encryption` are the kit: they know no room, and every room stands on them.
"""
