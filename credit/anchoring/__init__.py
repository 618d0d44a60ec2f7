"""Evidence of decisions: anchored records, signing keys, inclusion proofs, and an independent verifier."""
