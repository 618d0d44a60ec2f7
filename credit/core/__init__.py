"""Terms and computations of credit, without tables and requests. Every other package of credit may import it."""
