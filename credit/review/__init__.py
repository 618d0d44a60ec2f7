"""Make decisions about applications: with a single reviewer, with two reviewers, or automatically with a score."""
