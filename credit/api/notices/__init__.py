"""Views and serializers of notices, deliveries, and reconsiderations."""
