"""The open-banking vendors: a common protocol, and an adapter for each vendor. `choice` selects the adapter."""
