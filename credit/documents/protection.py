"""Check whether an encrypted PDF opens without a password (ISO 32000-2, 7.6).

Banks protect statements against changes with an owner password. Every PDF reader opens these files. The input is
untrusted, so each function has linear running time, and a PDF that causes an error is treated as locked.
"""

import hashlib
import hmac
import re
import struct
from collections import deque
from collections.abc import Iterator

from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

ENCRYPT = re.compile(rb"/Encrypt\s*(?:([0-9]{1,10})\s+([0-9]{1,5})\s+R|<<)")
# The maximum size of an encryption dictionary in bytes. The largest standard dictionary has about 600.
_DICTIONARY_MAX = 8_192
_PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"\n": b"", b"\r": b"", b"\r\n": b""}
_ESCAPED = re.compile(rb"\\([0-7]{1,3}|\r\n|[\s\S])")


def opens_without_password(content: bytes) -> bool:
    """Return whether the empty user password opens an encrypted PDF. Returns False for an unreadable PDF."""
    try:
        dictionary = _dictionary(content, _last(ENCRYPT.finditer(content)))
        return b"/Standard" in dictionary and _opens(dictionary, content)
    except (ValueError, IndexError, LookupError, struct.error):
        return False


def _last(matches: Iterator[re.Match[bytes]]) -> re.Match[bytes]:
    """Return the last match, because PDF readers use the last definition. Raises IndexError if there is no match."""
    return deque(matches, maxlen=1)[-1]


def _dictionary(content: bytes, match: re.Match[bytes]) -> bytes:
    if match[1] is None:
        return content[match.end() : match.end() + _DICTIONARY_MAX]
    number, generation = int(match[1]), int(match[2])
    start = re.search(rb"(?<![0-9])0*%d\s+0*%d\s+obj\b" % (number, generation), content)
    if start is None:
        raise LookupError
    return content[start.end() : start.end() + _DICTIONARY_MAX].partition(b"endobj")[0]


def _opens(dictionary: bytes, content: bytes) -> bool:
    revision, user = _integer(dictionary, b"R"), _string(dictionary, b"U")
    if revision in {5, 6}:
        hashed = hashlib.sha256(user[32:40]).digest() if revision == 5 else _hash_of_revision_6(user[32:40])
        return hmac.compare_digest(hashed, user[:32])
    if revision not in {2, 3, 4}:
        return False
    first_id = _string(content, b"ID", opened_by=rb"\[\s*")
    seed = _PADDING + _string(dictionary, b"O")[:32]
    seed += struct.pack("<I", _integer(dictionary, b"P") & 0xFFFFFFFF) + first_id
    if revision == 4 and re.search(rb"/EncryptMetadata\s+false\b", dictionary):
        seed += b"\xff\xff\xff\xff"
    key = hashlib.md5(seed, usedforsecurity=False).digest()
    if revision == 2:
        return hmac.compare_digest(_arc4(key[:5], _PADDING), user[:32])
    size = 16 if revision == 4 else min(_integer(dictionary, b"Length", default=40) // 8, 16)
    for _ in range(50):
        key = hashlib.md5(key[:size], usedforsecurity=False).digest()
    expected = hashlib.md5(_PADDING + first_id, usedforsecurity=False).digest()
    for step in range(20):
        expected = _arc4(bytes(byte ^ step for byte in key[:size]), expected)
    return hmac.compare_digest(expected, user[:16])


def _hash_of_revision_6(salt: bytes) -> bytes:
    """Hash the empty password with algorithm 2.B."""
    key, last, step = hashlib.sha256(salt).digest(), 0, 0
    while step < 64 or last > step - 32:
        encryptor = Cipher(AES(key[:16]), CBC(key[16:32])).encryptor()
        mixed = encryptor.update(key * 64)
        hashed = (hashlib.sha256, hashlib.sha384, hashlib.sha512)[sum(mixed[:16]) % 3]
        key, last, step = hashed(mixed).digest(), mixed[-1], step + 1
    return key[:32]


def _arc4(key: bytes, data: bytes) -> bytes:
    return Cipher(ARC4(key), mode=None).encryptor().update(data)


def _integer(dictionary: bytes, name: bytes, default: int | None = None) -> int:
    match = re.search(rb"/%s\s+(-?[0-9]{1,11})\b" % name, dictionary)
    if match is None:
        if default is None:
            raise LookupError
        return default
    return int(match[1])


def _string(content: bytes, name: bytes, opened_by: bytes = b"") -> bytes:
    """Return the string that follows the last occurrence of the key `name`.

    The string is in parentheses or in hexadecimal.
    """
    last_match = _last(re.finditer(rb"/%s\s*%s([(<])" % (name, opened_by), content))
    rest = content[last_match.end() : last_match.end() + _DICTIONARY_MAX]
    if last_match[1] == b"<":
        return bytes.fromhex(rest[: rest.index(b">")].decode("latin-1"))
    depth, at = 1, 0
    while depth:
        # 0x5C is a backslash.
        if rest[at] == 0x5C:
            at += 1
        else:
            depth += {0x28: 1, 0x29: -1}.get(rest[at], 0)
        at += 1
    return _ESCAPED.sub(_unescaped, rest[: at - 1])


def _unescaped(match: re.Match[bytes]) -> bytes:
    sign = match[1]
    return bytes([int(sign, 8) & 0xFF]) if sign[:1].isdigit() else _ESCAPES.get(sign, sign)
