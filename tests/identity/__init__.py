"""Tests of accounts and their credentials."""
