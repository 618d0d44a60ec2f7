"""The test suite.

In-process tests are in `tests/<app>/test_<endpoint>.py`, end-to-end scripts in `tests/flows/`. Tests that start
servers, browsers and other processes are in `tests/system/`, measurements in `tests/bench/`.
"""
