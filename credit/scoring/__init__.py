"""Scores: scorecards that are data, kept in versions that never change, and computed exactly.

A *model* belongs to a provider and has numbered *versions*; a version holds a *definition*, which is JSON
(`definition.schema.json`); cards come and go as PMML (`pmml`, `pmml_reading`), and come from `optbinning`. `evaluator`
computes a definition against *facts*, which apps register in `facts`. Nothing here knows who asks, and no provider is
asked while a score is computed.
"""
