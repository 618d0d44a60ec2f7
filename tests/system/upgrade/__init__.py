"""Upgrades from a released version to this one: its data stays, and its program runs on the new tables.

`1.0.0/` and its like contain the data of a version: its tables with the demo and the records of the end-to-end test,
for PostgreSQL and SQLite, with throw-away secrets, and the commit of its program. `keep.py` creates such a folder.
`judge.py` migrates a database and reports every problem; `wrong/` tests that it does.
"""
