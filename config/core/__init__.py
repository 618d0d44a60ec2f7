"""Shared code of models: state machines, errors, IDs, encryption, append-only tables, leases, and databases."""
