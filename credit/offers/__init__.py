"""Offers and their lenders: terms that count versions, quotes, the catalogue, and which offers fit a person.

An offer is active until it is deactivated. The events are `offer.created`, `offer.updated` and `offer.deactivated`.
"""
