from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from django.db import connections


def at_once(*calls):
    """Make the calls at the same moment, each in a thread of its own; return what they return, in their order."""
    barrier = Barrier(len(calls))

    def run(call):
        barrier.wait()
        try:
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
