"""The references: the same work on the same tables with the same responses, implemented in three other ways.

`bare` is Django without extensions, with hand-written SQL. `stock` is the usual way: REST framework's ModelViewSet and
ModelSerializer, simplejwt's authentication, Django's default middleware. `fastapi_app` is FastAPI with SQLAlchemy 2 on
asyncpg. The Django references run on gunicorn's `gthread` with command-line options, as any Django service would; all
have the platform's number of processes. Before a measurement, the bench compares their responses with the platform's.
"""
