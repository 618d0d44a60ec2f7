"""The documentation at `/docs`: static files that Sphinx makes of `docs/`, served to all.

`source` writes what Sphinx reads: the pages, and one for each error code. `make docs` builds, `views` and `urls` serve.
"""
