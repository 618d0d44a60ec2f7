"""Serializers of inclusion proofs, and the view of the record keys."""
