"""The end-to-end test of a new user: `python3 -m tests.system.walk` in a checkout. It needs no packages.

It clones the checkout, starts `make run`, runs the printed `curl`, and calls every operation of both OpenAPI documents
and every management command once. The test fails for an unexpected response, a "Traceback" in the output, and a command
that the test does not call.
"""
