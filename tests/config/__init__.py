"""Tests of the kit that every room is built with."""
