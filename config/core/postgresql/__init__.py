"""Django's backend for PostgreSQL with a faster health check."""
