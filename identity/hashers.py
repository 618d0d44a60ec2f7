"""A hasher for secrets that we made ourselves."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class RandomSecretHasher(PBKDF2PasswordHasher):
    """One round: a client secret is 384 random bits, which no number of rounds makes harder to guess."""

    algorithm = "random_secret"
    iterations = 1
