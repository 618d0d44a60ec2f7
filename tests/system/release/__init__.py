"""The output of `make release`, and its verification."""
