"""Test signed notes, checkpoints, and verifier keys against third-party code and malformed input."""

import base64

import metamorphic_log.metamorphic_log as metamorphic
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from ledger.checkpoint import (
    MAX_SIGNATURES,
    Checkpoint,
    NoteError,
    Signer,
    Verifier,
    decode_base64,
    open_checkpoint,
    open_note,
    parse_decimal,
    parse_note,
)
from tests.ledger import foreign

SIGNER = Signer("ledger.example/log", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = Signer("witness.example", Ed25519PrivateKey.from_private_bytes(bytes(32)))
HEAD = Checkpoint("ledger.example/log", 7, b"\x11" * 32)
NOTE = SIGNER.sign(HEAD.text())


def test_third_party_library_opens_a_signed_checkpoint():
    head = foreign.open_checkpoint(NOTE, SIGNER.verifier.vkey)
    assert (head.origin, head.size, bytes(head.root)) == (HEAD.origin, HEAD.size, HEAD.root)
    assert open_checkpoint(NOTE, SIGNER.verifier) == HEAD
    assert Checkpoint.from_text(f"o\n0\n{ROOT}\nextension\n") == Checkpoint("o", 0, bytes(32))
    assert open_note(SIGNER.sign("one\n\nthree\n"), SIGNER.verifier) == "one\n\nthree\n"


def test_verifier_key_of_the_go_checksum_database_is_parsed():
    # The public verifier key that the Go toolchain ships for its checksum database.
    vkey = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
    assert Verifier.from_vkey(vkey).vkey == vkey


def test_malformed_verifier_key_is_rejected():
    for vkey in (
        "", "name", "name+00000000", "+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8",
        "sum.golang.org+133de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8",
        "sum.golang.org+033DE0AE+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8",
        "sum.golang.org+033de0ae+As4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8",
        "sum.golang.org+033de0ae+Ac4zctda0e5eza", "sum.golang.org+033de0ae+!!!!",
    ):  # fmt: skip
        with pytest.raises(NoteError):
            Verifier.from_vkey(vkey)
    for name in ("", "a b", "a+b", "a\u2003b", "a\nb", "a\x01b"):
        with pytest.raises(NoteError):
            Verifier.from_vkey(f"{name}+00000000+AAAA")


def test_note_signatures_of_unknown_keys_are_ignored():
    cosigned = NOTE + OTHER.sign(HEAD.text()).rpartition("\n\n")[2]
    assert open_checkpoint(cosigned, SIGNER.verifier) == HEAD
    assert open_note(cosigned, OTHER.verifier) == HEAD.text()
    assert metamorphic.verify_signed_note(cosigned, [SIGNER.verifier.vkey, OTHER.verifier.vkey]) == 2


def test_note_without_a_signature_or_with_an_invalid_signature_of_the_key_is_rejected():
    with pytest.raises(NoteError, match="no signature"):
        open_note(NOTE, OTHER.verifier)
    same_name = Signer(SIGNER.name, OTHER.private_key)
    with pytest.raises(NoteError, match="no signature"):
        open_note(same_name.sign(HEAD.text()), SIGNER.verifier)
    forged = base64.b64encode(SIGNER.verifier.key_id + bytes(64)).decode()
    with pytest.raises(NoteError, match="does not verify"):
        open_note(NOTE + f"— {SIGNER.name} {forged}\n", SIGNER.verifier)


def test_checkpoint_of_another_origin_is_rejected():
    note = SIGNER.sign(Checkpoint("elsewhere.example", 1, bytes(32)).text())
    with pytest.raises(NoteError, match="another log"):
        open_checkpoint(note, SIGNER.verifier)


def test_note_with_a_changed_byte_is_rejected():
    raw = NOTE.encode()
    for at in range(len(raw)):
        for flip in (0x01, 0x20, 0x80):
            changed = raw[:at] + bytes([raw[at] ^ flip]) + raw[at + 1 :]
            try:
                text = changed.decode()
            except UnicodeDecodeError:
                continue
            with pytest.raises(NoteError):
                open_checkpoint(text, SIGNER.verifier)


LINE = NOTE.rpartition("\n\n")[2]


def test_malformed_signed_note_is_rejected():
    for note in (
        "", "\n", "text\n", "text\n\n", HEAD.text() + LINE, HEAD.text() + "\n" + LINE.rstrip("\n"),
        HEAD.text() + "\n" + LINE.replace("—", "-"), HEAD.text() + "\n" + LINE.replace("— ", "—  "),
        HEAD.text() + "\n" + LINE.replace("\n", " \n"), HEAD.text() + "\n" + LINE + "\n",
        HEAD.text() + "\n" + LINE.replace("\n", "\r\n"), HEAD.text() + "\n— name+plus AAAAAAA=\n",
        HEAD.text() + "\n— name AAAA\n", HEAD.text() + "\n— name AAAAAAB=\n", HEAD.text() + "\n— name AAAAAAA\n",
        "a\x00b\n\n" + LINE, "a\tb\n\n" + LINE, "\ud800\n\n" + LINE, "x" * 70_000 + "\n\n" + LINE,
        HEAD.text() + "\n" + LINE * (MAX_SIGNATURES + 1),
    ):  # fmt: skip
        with pytest.raises(NoteError):
            parse_note(note)


ROOT = base64.b64encode(bytes(32)).decode()


def test_malformed_checkpoint_is_rejected():
    for text in (
        "", "o\n", "o\n1\n", f"o\n1\n{ROOT}", f"\n1\n{ROOT}\n", f"o\n\n{ROOT}\n", f"o\n01\n{ROOT}\n",
        f"o\n+1\n{ROOT}\n", f"o\n-1\n{ROOT}\n", f"o\n1 \n{ROOT}\n", f"o\n\u0661\n{ROOT}\n",
        f"o\n9223372036854775808\n{ROOT}\n", f"o\n1\n{ROOT[:-1]}\n", f"o\n1\n{ROOT}=\n",
        "o\n1\nAAAA\n", f"o\n1\n{ROOT}\n\n",
        f"o\n1\n{ROOT[:-2]}B=\n",
    ):  # fmt: skip
        with pytest.raises(NoteError):
            Checkpoint.from_text(text)


@given(st.binary(max_size=80))
def test_checkpoint_base64_is_decoded_unchanged(raw):
    assert decode_base64(base64.b64encode(raw).decode()) == raw


@given(st.text(alphabet="0123456789+- ", max_size=21))
def test_checkpoint_parser_accepts_only_canonical_numbers(text):
    try:
        value = parse_decimal(text)
    except NoteError:
        return
    assert str(value) == text
    assert value < 2**63
