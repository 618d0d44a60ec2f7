"""Request reports from vendors. The package contains the adapter protocol and a sandbox vendor."""
