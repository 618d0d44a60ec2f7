"""What the platform is measured against: the same work on the same tables with the same answers, done three other ways.

`bare` is Django without anything on top, every statement written by hand. `stock` is how most people write it: REST
framework's ModelViewSet and ModelSerializer, simplejwt's authentication, Django's usual middleware. `fastapi_app` is
FastAPI with SQLAlchemy 2 on asyncpg. The Django ones run on gunicorn's `gthread` by options on its command line, as any
Django service would; all have the platform's number of processes. The bench holds their answers against the platform's
before it measures.
"""
