"""Demo data of credit: offers of three providers, a scoring model, applications in every status, and a lender's book of
ninety days.

The demo account borrows from two of the providers and is the third itself, so that its key opens every operation.
"""
