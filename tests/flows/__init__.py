"""Test end-to-end scenarios across several apps."""
