"""Offers and their lenders: versioned terms, quotes, the catalog, and the matching of offers.

An offer is active until it is deactivated. The events are `offer.created`, `offer.updated`, and `offer.deactivated`.
"""
