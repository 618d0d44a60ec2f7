"""How the back office writes dates and times: as ISO 8601 does, in the one language that it has."""
