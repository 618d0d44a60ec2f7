"""Addresses, transactions, and the JSON-RPC client of the settlement chain. This package doesn't use the database.

The platform is non-custodial. It creates unsigned transactions for a user's wallet, and decodes signed transactions.
It never receives a private key and can't sign.
"""
