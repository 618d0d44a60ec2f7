"""Scorecards: validation, immutable versions, exact scores, and explanations.

A *model* belongs to a lender and has numbered *versions*. Each version has a *definition* in JSON
(`definition.schema.json`). Definitions can be imported from `optbinning` tables and exported as PMML (`pmml`).
`evaluator` computes a score from a definition and *facts*, which apps declare (`credit.core.facts`). The package does
not import its callers. It calls no vendor while it computes a score.
"""
