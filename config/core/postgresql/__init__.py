"""Django's backend for PostgreSQL, with a cheaper question whether a kept connection still works."""
