"""Trees that are small enough to be hashed anew."""

from ledger.merkle import Frontier


def tree_root(leaves):
    """Root over leaf hashes."""
    frontier = Frontier()
    for leaf in leaves:
        frontier.push(leaf)
    return frontier.root()
