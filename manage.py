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
        # A sentence for whoever sets the environment, and the status that says that starting again does not help.
        sys.stderr.write(f"{error}\n")
        sys.exit(os.EX_CONFIG)
    except OperationalError as error:
        if any(connection.connection for connection in connections.all(initialized_only=True)):
            raise  # it answered, so the traceback says what it was asked
        sys.stderr.write(f"The database does not answer: {str(error).partition(chr(10))[0]}\n")
        sys.exit(os.EX_UNAVAILABLE)


if __name__ == "__main__":
    main()
