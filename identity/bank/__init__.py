"""Bank data: a person links a log-in at their bank (an item), and we read its accounts and transactions.

Nothing that is read becomes permanent by itself: the accounts of a new item are put into `staging`, and approving them
there fills `BankAccount` (and `BankTransaction` for transactions staged by the client). An item's access token is kept
encrypted, and appears in no answer, event, log line or page.

Events: `bankdata.item.linked`.
"""
