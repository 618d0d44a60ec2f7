"""Walks through the platform as a caller takes them."""
