"""Claims: that somebody wrote, or contributed to, a publication."""
