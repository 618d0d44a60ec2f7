#!/usr/bin/env python
"""Run a management command: `python manage.py help` lists them."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError, connections

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # EX_CONFIG means that a restart can't fix the error.
        sys.stderr.write(f"{error}\n")
        sys.exit(os.EX_CONFIG)
    except OperationalError as error:
        if any(connection.connection for connection in connections.all(initialized_only=True)):
            raise  # a connection was open, so the traceback of the failed statement is useful
        sys.stderr.write(f"The database does not respond: {str(error).partition(chr(10))[0]}\n")
        sys.exit(os.EX_UNAVAILABLE)


if __name__ == "__main__":
    main()
