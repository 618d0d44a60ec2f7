"""What models share: state machines, errors, ids, encryption, append-only tables, leases, databases, declarations."""
