from hashlib import sha256


def digest_of(text: str) -> str:
    """Return the SHA-256 in hex, as which random texts (keys, tokens, codes) are kept: they need no slow hash."""
    return sha256(text.encode()).hexdigest()
