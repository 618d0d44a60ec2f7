from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from django.db import connections


def run_concurrently(*calls):
    """Run the calls concurrently, each in its own thread; return their results in order."""
    barrier = Barrier(len(calls))

    def run(call):
        barrier.wait()
        try:
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
