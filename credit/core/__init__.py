"""Credit terms and computations that need no database and no request. All packages of `credit` may import them."""
