"""The settlement chain: addresses, transactions, and a node's JSON-RPC. Nothing here knows the database.

The service is non-custodial. It writes what a person's wallet is to sign and reads what was signed; no private key
comes in, and nothing here can sign.
"""
