"""Context of the request that this thread serves, for log lines and for rows that store a request id."""

import logging
from contextvars import ContextVar

# The id that the response returns in X-Request-Id; empty outside a request.
request_id: ContextVar[str] = ContextVar("request_id", default="")


class RequestIdFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get() or "-"
        return True
