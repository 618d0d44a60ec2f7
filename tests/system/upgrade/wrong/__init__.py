"""Five migrations that must fail, each with the expected finding. PREDECESSOR is replaced for each test."""
