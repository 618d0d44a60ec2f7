"""The module that Django imports from the package in `ENGINE`."""

import select
from typing import Any

import psycopg
from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's, whose `CONN_HEALTH_CHECKS` would cost each request a round trip to the server.

    No setting outlives a transaction: behind a pooler the session then belongs to another client.
    """

    def chunked_cursor(self) -> Any:
        """Return a cursor for `iterator()`: within a transaction a server-side one, which saves memory.

        Django's setting DISABLE_SERVER_SIDE_CURSORS would also disable them for large reads within one transaction.
        """
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()

    def is_usable(self) -> bool:
        """Return whether the connection works: it is at rest without pending data, or it answers.

        A server that ends a connection sends a message on it.
        """
        said = select.poll()
        try:
            said.register(self.connection, select.POLLIN)
        except psycopg.OperationalError:
            return False  # a lost connection has no socket
        at_rest = self.connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        return (at_rest and not said.poll(0)) or super().is_usable()
