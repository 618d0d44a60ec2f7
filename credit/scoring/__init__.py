"""Scores: scorecards that are data, kept in versions that never change, and computed exactly.

A *model* belongs to a provider and has numbered *versions*; a version holds a *definition*, which is JSON
(`definition.schema.json`). Cards come from tables of `optbinning`, and go as PMML (`pmml`). `evaluator` computes a
definition against *facts*, which apps declare (`facts`). Nothing here knows who asks, and no provider is asked while a
score is computed.
"""
