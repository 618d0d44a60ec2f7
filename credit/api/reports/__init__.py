"""Reports of vendors about applicants."""
