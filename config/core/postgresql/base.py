"""The module that Django loads for the `ENGINE` of this package."""

import select
from typing import Any

import psycopg
from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's backend with a health check that needs no round trip to the server.

    Session state must not outlive a transaction, because a pooler may assign the session to another client.
    """

    def chunked_cursor(self) -> Any:
        """Return a cursor for `iterator()`.

        A server-side cursor saves memory within transactions. Django's setting DISABLE_SERVER_SIDE_CURSORS would also
        apply within transactions.
        """
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()

    def is_usable(self) -> bool:
        """Check whether the connection has no pending data, or responds to a query.

        A server sends a message before it closes a connection.
        """
        poller = select.poll()
        try:
            poller.register(self.connection, select.POLLIN)
        except psycopg.OperationalError:
            return False  # a closed connection has no socket
        at_rest = self.connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        return (at_rest and not poller.poll(0)) or super().is_usable()
