"""Attacks on a running server, with figures: `python -m tests.system.attacks.NAME`."""
