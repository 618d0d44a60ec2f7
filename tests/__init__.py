"""The test suite: `tests/<room>/test_<endpoint>.py`, whole stories in `tests/flows/`, measurements in
`tests/bench/`.
"""
