"""Tests of the code that all apps share."""
