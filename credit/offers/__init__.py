"""Lenders and their offers: versioned terms, the catalog, members, and prefilled links.

An offer stays active until it is deactivated. Events: `offer.created`, `offer.updated`, and `offer.deactivated`.
"""
