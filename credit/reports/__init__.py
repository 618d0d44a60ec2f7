"""Reports of vendors: the port that an adapter implements, the sandbox's vendor, requesting a report."""
