"""Scores: scorecards as JSON, stored in immutable versions, and computed exactly.

A *model* belongs to a lender and has numbered *versions*. A version has a *definition*, which is JSON
(`definition.schema.json`). Definitions are imported from tables of `optbinning` and exported as PMML (`pmml`).
`evaluator` computes a definition from *facts*, which apps declare (`facts`). The package imports none of its callers,
and calls no vendor while it computes a score.
"""
