"""Views and serializers of lenders, offers, quotes, and the catalog."""
