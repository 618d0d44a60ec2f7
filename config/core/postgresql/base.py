"""The module that Django looks for in the package that `ENGINE` names."""

import select

import psycopg
from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's, whose `CONN_HEALTH_CHECKS` would cost each request a round trip to the server."""

    def is_usable(self) -> bool:
        """Say whether the connection works: it is at rest and nobody has written on it, or it answers.

        A server that ends a connection says so on it.
        """
        said = select.poll()
        try:
            said.register(self.connection, select.POLLIN)
        except psycopg.OperationalError:
            return False  # known to be lost, so that it has no socket any more
        at_rest = self.connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        return (at_rest and not said.poll(0)) or super().is_usable()
