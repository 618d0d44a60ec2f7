"""The API of credit: views and serializers of each package, and one `urls.py`."""
