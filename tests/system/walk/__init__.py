"""A new user's walk: `python3 -m tests.system.walk` in a checkout, with the standard library alone.

It clones the checkout, lets `make run` set everything up from requirements.txt, pastes the printed `curl`, then calls
every operation of both OpenAPI documents and every management command once. What answers 5xx, says "Traceback", or has
no entry here fails the walk.
"""
