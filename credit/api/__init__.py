"""The API of credit: views and serializers, a pair for each package, and one `urls.py`."""
