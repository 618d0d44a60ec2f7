"""Views of an offer's requirements, and of an application's missing items."""
