"""Django's backend for PostgreSQL, with a cheaper check of a reused connection."""
