"""End-to-end scenarios across several apps."""
