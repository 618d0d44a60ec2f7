"""Tests of the output of `make release` and of its verification."""
