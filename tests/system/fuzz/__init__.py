"""Both services against what their OpenAPI documents allow and forbid: generated requests, checked answers."""
