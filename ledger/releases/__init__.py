"""Releases: what one consists of (`contents`), a ledger for those that no other anchors (`throw_away`), and whether the
files of one belong together (`checking`).
"""
