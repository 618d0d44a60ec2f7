"""Test the payments app."""
