"""The back office of credit: admin classes, pages, filters, and panels for reviewers and lenders.

A case is an application that reviewers work on.
"""
