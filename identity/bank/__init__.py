"""Bank data: an account links a log-in at a bank (an item), and the platform reads its accounts and transactions.

The platform stores data only after the owner's approval. For a new item, the platform puts the accounts and the latest
transactions into `staging`. The approval of these staged rows creates `BankAccount` and `BankTransaction` rows. The
item's access token is encrypted, and never appears in a response, event, log line, or page.

Events: `bankdata.item.linked`.
"""
