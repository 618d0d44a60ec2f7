from hashlib import sha256


def digest_of(text: str) -> str:
    """Return the SHA-256 in hex. Random keys, tokens, and codes need no slow hash."""
    return sha256(text.encode()).hexdigest()
