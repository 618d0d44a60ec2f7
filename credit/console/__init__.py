"""The back office of credit: admin classes, pages, filters, and panels for reviewers and lenders."""
