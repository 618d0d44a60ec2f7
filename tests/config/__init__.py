"""Test the code that all apps share."""
