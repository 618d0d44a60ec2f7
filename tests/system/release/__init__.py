"""What `make release` makes, and whether it is what it says."""
