"""Lenders and their offers: versioned terms, the catalog, members, and prefilled links.

An offer is active until it is deactivated. The events are `offer.created`, `offer.updated`, and `offer.deactivated`.
"""
