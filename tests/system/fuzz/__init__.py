"""Both services against their OpenAPI documents: generated requests, checked responses."""
