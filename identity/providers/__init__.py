"""Open banking: the vendor interface and its adapters. `choice` selects the adapter in use."""
