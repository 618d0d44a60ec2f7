"""Views, parsers, and serializers of requested documents and their files."""
