"""Send generated requests to both services, and check the responses against the OpenAPI documents."""
