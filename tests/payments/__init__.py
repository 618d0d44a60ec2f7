"""Tests of the payments room."""
