"""Scores: scorecards that are data, kept in versions that never change, and computed exactly.

A *model* belongs to a provider and has numbered *versions*; a version holds a *definition*, which is JSON
(`definition.schema.json`). Cards come from tables of `optbinning`, and go as PMML (`pmml`). `evaluator` computes a
definition against *facts*, which apps declare (`facts`). The package does not know its callers, and calls no provider
while a score is computed.
"""
