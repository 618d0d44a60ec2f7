"""Views and serializers of counteroffers, terms, and agreements."""
