"""Benchmarks, which `make bench` runs. pytest does not collect them."""
