"""Reports of vendors: the adapter protocol, the sandbox's vendor, and requests of reports."""
