from hashlib import sha256


def digest_of(text: str) -> str:
    """Return the SHA-256 in hex. Random strings (keys, tokens, codes) are stored like this, because they need no slow
    hash."""
    return sha256(text.encode()).hexdigest()
