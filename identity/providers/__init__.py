"""Open banking: what the platform asks of a provider, and the providers; `choice` says which one is in use."""
