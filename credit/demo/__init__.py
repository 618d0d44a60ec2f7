"""Write demo data of credit: three lenders, a scoring model, applications in every status, and 90 days of business.

The demo account borrows from two lenders and owns the third lender, so that its key can call every operation.
"""
