"""The public documentation at `/docs`, which consists of static files that Sphinx builds from `docs/`.

`source` writes the input of Sphinx: the pages, and a page for each error code. `make docs` builds the files. `views`
and `urls` serve them.
"""
