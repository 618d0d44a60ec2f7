"""Tests of the payments app."""
