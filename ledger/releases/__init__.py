"""Releases: their contents (`contents`), and their verification (`checking`)."""
