"""The errors of credit, a module for each package that raises them."""
