from hashlib import sha256


def digest_of(text: str) -> str:
    """Return the SHA-256 in hex. Random texts (keys, tokens, codes) are kept like this: they need no slow hash."""
    return sha256(text.encode()).hexdigest()
