"""Request reports from vendors, with an adapter protocol and a sandbox vendor."""
