"""Requested documents, and the uploaded files, which are scanned, encrypted, and never changed."""
