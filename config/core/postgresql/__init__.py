"""Django's backend for PostgreSQL, with a faster health check of a reused connection."""
