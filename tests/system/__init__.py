"""Tests that start servers, browsers, clusters and other processes."""
