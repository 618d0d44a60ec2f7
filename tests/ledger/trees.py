"""Compute small trees from all their leaves."""

from ledger.merkle import Frontier


def tree_root(leaves):
    frontier = Frontier()
    for leaf in leaves:
        frontier.push(leaf)
    return frontier.root()
