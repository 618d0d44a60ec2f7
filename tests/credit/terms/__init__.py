"""Tests of loan terms, counteroffers and agreements."""
