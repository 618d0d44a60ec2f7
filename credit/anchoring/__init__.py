"""Evidence of decisions: the records that are anchored, the keys that sign them, their proofs, and the verifier."""
