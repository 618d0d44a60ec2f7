"""Test accounts and their credentials."""
