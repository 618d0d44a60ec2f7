"""Handlers and formatters of log lines without personal data.

A full disk, or a closed or stuck pipe, loses lines, but no request fails. In production, lines exclude exception
messages, because these can quote rows and documents.
"""

import logging
import os
import select
import sys
import traceback
from types import TracebackType
from typing import Any

import orjson
from pythonjsonlogger.orjson import OrjsonFormatter

from config.core.audit import AUDIT_LOGGER
from config.ops.request_counts import counts_of_process

ACCESS_LOGGER = "platform.access"  # `config.ops.access_log` writes a line per request
_PIECE_BYTES = 4096  # a ready pipe accepts this number of bytes without blocking (PIPE_BUF)
# The messages of these exceptions describe code, and quote no data.
_ABOUT_CODE = (AttributeError, ImportError, NameError, NotImplementedError, TypeError)
_Exception = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class StandardError(logging.Handler):
    """Writes each line to standard error immediately, or drops the line. Never raises or blocks."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            stream = sys.stderr
            # A closed stream's file descriptor may now belong to a database file or a socket.
            if stream is not None and not stream.closed:
                _write(stream.fileno(), f"{self.format(record)}\n".encode(errors="backslashreplace"))
        except Exception:  # noqa: BLE001  an error of a log line must not stop a request
            return


class AuditLines(StandardError):
    """Counts and writes the lines of the audit stream, which `config.core.audit` formats."""

    def emit(self, record: logging.LogRecord) -> None:
        counts = counts_of_process()
        if counts is not None:
            counts.audit_lines.inc()
        super().emit(record)


def _write(descriptor: int, line: bytes) -> None:
    ready = select.poll()
    ready.register(descriptor, select.POLLOUT)
    while line and ready.poll(0):
        line = line[os.write(descriptor, line[:_PIECE_BYTES]) :]


class ReadableLines(logging.Formatter):
    """Formats short lines for a terminal in development."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s [%(request_id)s] %(message)s")
        self._of_request = logging.Formatter("%(asctime)s %(service)-8s %(message)s", datefmt="%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        if record.name == AUDIT_LOGGER:
            event = orjson.loads(record.getMessage())["metadata"]["event_code"]
            return f"{self.formatTime(record, '%H:%M:%S')} audit    {event}"
        is_request = record.name == ACCESS_LOGGER
        return self._of_request.format(record) if is_request else super().format(record)


class JsonLines(OrjsonFormatter):
    def __init__(self) -> None:
        super().__init__(
            "%(asctime)s %(levelname)s %(name)s %(message)s %(request_id)s",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
        )

    def formatException(self, ei: _Exception) -> Any:  # noqa: N802  the library's name
        """Format a traceback without exception messages, which may contain personal data."""
        return "".join(_discreet_lines(ei[1])) if ei[1] is not None else ""


def _discreet_lines(error: BaseException) -> list[str]:
    lines: list[str] = []
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    for linked in reversed(chain):
        lines += traceback.format_tb(linked.__traceback__)
        lines.append(f"{type(linked).__module__}.{type(linked).__qualname__}{_text_without_data(linked)}\n")
    return lines


def _text_without_data(error: BaseException) -> str:
    """Return the message if the exception is about code.

    For a database error, return the SQLSTATE, table, and constraint.
    """
    if isinstance(error, _ABOUT_CODE):
        return f": {error}"
    diagnostics = getattr(error, "diag", None)
    named = [getattr(diagnostics, name, None) for name in ("sqlstate", "table_name", "constraint_name")]
    return "".join(f" {name}" for name in named if name)
