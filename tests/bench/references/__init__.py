"""Three other implementations of the measured endpoints, with the same tables, work, and responses.

`bare` is Django without extensions, with hand-written SQL. `stock` follows the guides: REST framework's ModelViewSet
and ModelSerializer, simplejwt's authentication, and Django's default middleware. `fastapi_app` is FastAPI with
SQLAlchemy 2 on asyncpg. The Django references run on gunicorn's `gthread` worker with command-line options. All
references run as many processes as the platform. Before a measurement, the benchmark compares their responses with the
platform's.
"""
