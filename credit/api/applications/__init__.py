"""Views and serializers of applications."""
