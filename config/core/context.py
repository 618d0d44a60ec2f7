"""Context of the request that this thread serves, for log lines and for rows that store a request id."""

import logging
from contextvars import ContextVar

# The response returns this ID in X-Request-Id. Outside of a request, the ID is empty.
request_id: ContextVar[str] = ContextVar("request_id", default="")


class RequestIdFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get() or "-"
        return True
