"""The end-to-end test of a new user: `python3 -m tests.system.walk` in a checkout, with only the standard library.

It clones the checkout, lets `make run` set everything up from requirements.txt, runs the printed `curl`, and calls
every operation of both OpenAPI documents and every management command once. A 5xx response, a "Traceback", or an
operation or command without an entry here fails the test.
"""
