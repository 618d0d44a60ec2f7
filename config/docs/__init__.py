"""The documentation as pages: README.md, `docs/` and the error codes, at `/docs`.

The files stay what they are on a code host; nothing here decides anything, and everybody may read. `pages` finds and
renders them, `rendering` turns Markdown into HTML, `searching` finds sections by words, `views` and `urls` serve them.
"""
