"""Words and arithmetic of credit: no tables, no requests. Every other package of credit may use it."""
