"""Requested documents and their files: scanned, encrypted, and never changed."""
