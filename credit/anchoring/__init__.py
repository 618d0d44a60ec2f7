"""Evidence of decisions: anchored records, the keys that sign them, their inclusion proofs, and the verifier."""
