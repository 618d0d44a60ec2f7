"""Tests of accounts, credentials and what they call with."""
