"""The only way out: calls of providers and of webhook receivers, with deadlines and size limits."""
