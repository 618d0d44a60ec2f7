"""Shared code of models: state machines, errors, ids, encryption, append-only tables, leases, databases."""
