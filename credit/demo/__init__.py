"""Demo data of credit: offers of three lenders, a scoring model, applications in every status, and 90 days of business.

The demo account borrows from two of the lenders, and is itself the third lender, so that its key can call every
operation.
"""
