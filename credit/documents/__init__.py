"""Requested documents and uploaded files. The files are scanned, encrypted, and never changed."""
