"""The test suite: `tests/<app>/test_<endpoint>.py`, whole stories in `tests/flows/`, measurements in
`tests/bench/`.
"""
