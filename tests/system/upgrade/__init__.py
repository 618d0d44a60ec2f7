"""Upgrades from released versions to this version: no data is lost, and the old program runs on the new tables.

A folder such as `1.0.0/` contains the data of a version: the commit of its code, and a database each for PostgreSQL and
SQLite. The databases contain the demo, the records of the end-to-end test, and disposable secrets. `keep.py` creates
such a folder. `judge.py` migrates a database and reports every problem. `wrong/` contains migrations that `judge.py`
must report.
"""
