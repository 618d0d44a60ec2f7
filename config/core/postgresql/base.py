"""The module that Django imports from the package in `ENGINE`."""

import select
from typing import Any

import psycopg
from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's backend with a health check that needs no round trip to the server.

    No session state may outlive a transaction: behind a pooler, the session then belongs to another client.
    """

    def chunked_cursor(self) -> Any:
        """Return a cursor for `iterator()`. Within a transaction, this is a server-side cursor, which saves memory.

        Django's setting DISABLE_SERVER_SIDE_CURSORS would also disable server-side cursors within transactions.
        """
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()

    def is_usable(self) -> bool:
        """Check whether the connection has no pending data, or responds to a query.

        Before a server closes a connection, it sends a message, which is pending data.
        """
        said = select.poll()
        try:
            said.register(self.connection, select.POLLIN)
        except psycopg.OperationalError:
            return False  # a closed connection has no socket
        at_rest = self.connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        return (at_rest and not said.poll(0)) or super().is_usable()
