"""The documentation as pages: README.md, `docs/` and the error codes, at `/docs`.

The files are the same as on a code host; this package decides nothing, and all people may read the pages. `pages` finds
and renders them, `rendering` turns Markdown into HTML, `searching` finds sections by words, `views` and `urls` serve
them.
"""
