"""The test suite: `tests/<app>/test_<endpoint>.py` in the process, whole stories in `tests/flows/`; what starts
servers, browsers and other processes in `tests/system/`; measurements in `tests/bench/`.
"""
