"""Views and serializers of scoring models, their versions, scores, and monitoring."""
