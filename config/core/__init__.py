"""What models share: state machines, ids, encryption, append-only tables, leases, statements' databases."""
