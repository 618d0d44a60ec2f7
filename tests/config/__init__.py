"""Tests of the shared code that every app is built with."""
