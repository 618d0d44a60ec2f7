"""The settlement chain: addresses, transactions, and a node's JSON-RPC. This package doesn't use the database.

The service is non-custodial. It creates transactions for a person's wallet to sign, and reads signed transactions. It
never receives a private key and can't sign.
"""
