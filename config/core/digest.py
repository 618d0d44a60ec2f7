from hashlib import sha256


def digest_of(text: str) -> str:
    """Return the SHA-256 in hex, for storing random strings (keys, tokens, codes), which need no slow hash."""
    return sha256(text.encode()).hexdigest()
