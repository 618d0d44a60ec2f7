"""The back office of credit: every admin class, page, filter and panel for reviewers and lenders."""
