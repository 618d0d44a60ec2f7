"""Loans: what an approval names, counteroffers, agreements."""
