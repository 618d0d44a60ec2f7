"""Releases: what one consists of (`contents`), and whether the files of one belong together (`checking`)."""
