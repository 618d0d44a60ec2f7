"""Test PDFs that qpdf 11 encrypted with every revision, with an owner password or also a user password."""

import json
import random
from base64 import b64decode
from pathlib import Path

import pytest

from credit.core.errors import ApiError
from credit.documents.kinds import recognize
from credit.documents.protection import opens_without_password
from tests.credit.document_support import PDF
from tests.properties import share_of

FILES = {
    name: b64decode(text)
    for name, text in json.loads(Path(__file__).with_name("protected_pdfs.json").read_text()).items()
}


def test_only_a_pdf_that_opens_without_a_password_is_accepted():
    for name, content in FILES.items():
        if name.endswith("owner"):
            assert recognize(content) == "application/pdf", name
        else:
            assert not opens_without_password(content), name
            with pytest.raises(ApiError, match="Print it"):
                recognize(content)


def test_pdf_with_an_incomplete_encryption_dictionary_is_treated_as_password_protected():
    for name, content in FILES.items():
        for old in (b"/U ", b"/O ", b"/ID ", b"/P ", b"/R ", b"/Standard"):
            is_needed = old in content and not (name[1] in "56" and old in {b"/O ", b"/ID ", b"/P "})
            if name.endswith("owner") and is_needed:
                assert not opens_without_password(content.replace(old, b"/X" + old[1:])), (name, old)


def test_pdf_check_parses_hexadecimal_and_literal_encryption_strings():
    content = FILES["r3-owner"]
    start = content.index(b"/U <") + 4
    plain = bytes.fromhex(content[start : content.index(b">", start)].decode())
    for literal in (
        b"".join(b"\\%03o" % byte for byte in plain),
        b"".join(b"\\" + bytes([byte]) if byte in b"()\\\r" else bytes([byte]) for byte in plain),
    ):
        spelt = content[: start - 1] + b"(" + literal + b")" + content[content.index(b">", start) + 1 :]
        assert opens_without_password(spelt)


def test_pdf_check_raises_no_exception_for_random_content():
    draw = random.Random(7)
    for content in FILES.values():
        for _ in range(share_of(300)):
            changed = bytearray(content)
            for _ in range(draw.randint(1, 12)):
                changed[draw.randrange(len(changed))] = draw.randrange(256)
            opens_without_password(bytes(changed[: draw.randint(1, len(changed))]))
    for content in (b"/Encrypt<<", b"/Encrypt 1 0 R", PDF + b"/Encrypt 1 0 R" * 9, b"/Encrypt<</R 3/U(" + b"\\" * 999):
        assert not opens_without_password(content)
