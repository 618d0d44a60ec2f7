"""Bank data: a person links a log-in at their bank (an item), and we read its accounts and transactions.

Nothing that is read becomes permanent by itself: the accounts and the latest bookings of a new item are put into
`staging`, and approving them there fills `BankAccount` and `BankTransaction`. An item's access token is kept
encrypted, and appears in no answer, event, log line or page.

Events: `bankdata.item.linked`.
"""
