"""Bank data: a person links a log-in at their bank (an item), and the platform reads its accounts and transactions.

Data is stored only after its owner's approval. The accounts and the latest bookings of a new item are put into
`staging`. Their approval creates `BankAccount` and `BankTransaction` rows. An item's access token is encrypted, and
never appears in a response, event, log line, or page.

Events: `bankdata.item.linked`.
"""
