"""From a released version to this one: what it kept is still there, and its program serves on the new tables.

`1.0.0/` and its like hold what a version made: its tables with the demo and what the walk does in them, for PostgreSQL
and for SQLite, with the throw-away secrets that open them, and the commit of its program. `keep.py` makes such a
folder, `judge.py` migrates a database and says what is wrong with that, `wrong/` shows that it can.
"""
