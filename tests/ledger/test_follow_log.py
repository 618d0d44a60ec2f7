"""Test that `manage.py follow_log` checks each new head over tiles, and saves both checkpoints of a fork."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from ledger import tiles
from ledger.merkle import Frontier
from tests.ledger.witnesses import LOG, leaves_of, note_of, serving


class TiledLog:
    """A log of another operator that serves a signed checkpoint and tiles as files, like a web server."""

    def __init__(self, leaves):
        self.files = {}
        self.requested_paths = []
        self.grow(leaves)

    def grow(self, leaves):
        """Publish the tree over these leaves in place of the previous tree."""
        self.files["checkpoint"] = note_of(leaves).encode()
        for (level, index), packed in tiles.grow(Frontier(), leaves).items():
            width = len(packed) // 32
            self.files["tile/" + tiles.TileName(level, index, width).path()] = packed

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"].removeprefix("/deep/prefix/")
        self.requested_paths.append(path)
        content = self.files.get(path)
        start_response("404 Not Found" if content is None else "200 OK", [("Content-Type", "text/plain")])
        return [content or b""]


@pytest.fixture
def published():
    return TiledLog(leaves_of(5))


@pytest.fixture
def follow(published, tmp_path):
    """Return a function that runs one check of the published log and returns the command's JSON."""
    with serving(published) as [address]:

        def once(*arguments, key=LOG.verifier.vkey):
            out = StringIO()
            options = ["--key", key, "--once", "--json", "--state", str(tmp_path / "head"), *arguments]
            call_command("follow_log", f"{address}/deep/prefix/", *options, stdout=out)
            return json.loads(out.getvalue())

        yield once


def test_follow_log_command_reads_a_growing_log_with_at_most_10_requests(published, follow):
    leaves = leaves_of(66_000)
    for size in (5, 5, 256, 257, 65_536, 66_000):
        published.grow(leaves[:size])
        published.requested_paths.clear()
        assert follow()["size"] == size
        assert len(published.requested_paths) <= 1 + 3 * 3


def test_follow_log_command_replaces_a_deleted_partial_tile_with_the_full_tile(published, follow):
    leaves = leaves_of(600)
    published.grow(leaves[:300])
    published.files = {path: content for path, content in published.files.items() if ".p/" not in path}
    published.files["tile/0/001"] = b"".join(leaves[256:512])
    published.files["tile/1/000.p/1"] = TiledLog(leaves[:300]).files["tile/1/000.p/1"]
    assert follow()["size"] == 300


def test_follow_log_command_does_not_report_an_older_checkpoint_as_a_fork(published, follow, tmp_path):
    leaves = leaves_of(300)
    published.grow(leaves)
    follow()
    stored = (tmp_path / "head").read_text()
    published.files["checkpoint"] = note_of(leaves[:7]).encode()
    assert follow()["size"] == 300
    assert (tmp_path / "head").read_text() == stored


@pytest.mark.parametrize(("stored", "served"), [(9, 9), (9, 12), (12, 9), (256, 300), (300, 600)])
def test_follow_log_command_stores_both_checkpoints_of_a_fork_and_stops(published, follow, tmp_path, stored, served):
    leaves, forked = (
        leaves_of(stored),
        leaves_of(min(stored, served), "forked") + leaves_of(600)[min(stored, served) : served],
    )
    published.grow(leaves)
    follow()
    state = (tmp_path / "head").read_text()
    if stored <= served:
        published.grow(forked)
    else:
        published.files["checkpoint"] = note_of(forked).encode()
    for _ in range(2):
        with pytest.raises(CommandError) as caught:
            follow()
        assert caught.value.returncode == 3
        for note in (note_of(leaves), note_of(forked)):
            assert note in str(caught.value)
    [evidence] = tmp_path.glob("head.fork-*")
    for note in (note_of(leaves), note_of(forked)):
        assert note in evidence.read_text()
    assert (tmp_path / "head").read_text() == state


def test_follow_log_command_reports_damaged_data_without_a_state_change(published, follow, tmp_path):
    follow()
    stored = (tmp_path / "head").read_text()
    tile = "tile/0/000.p/12"
    for spoil in (
        lambda files: files.pop("checkpoint"),
        lambda files: files.update(checkpoint=b"\xff"),
        lambda files: files.update(checkpoint=b"x" * 100_000),
        lambda files: files.update(checkpoint=files["checkpoint"].replace(b"\n12\n", b"\n13\n")),
        lambda files: files.pop(tile),
        lambda files: files.update({tile: files[tile][1:]}),
        lambda files: files.update({tile: bytes(12 * 32)}),
        lambda files: files.update({tile: bytes(9_000)}),
    ):
        published.grow(leaves_of(12))
        spoil(published.files)
        with pytest.raises(CommandError) as caught:
            follow()
        assert caught.value.returncode == 1
        assert (tmp_path / "head").read_text() == stored
        assert not list(tmp_path.glob("head.fork-*"))
    for content in (b"", b"hello", b"\xff"):
        (tmp_path / "head").write_bytes(content)
        with pytest.raises(CommandError, match="holds no checkpoint of this log"):
            follow()
        assert (tmp_path / "head").read_bytes() == content


def test_follow_log_command_explains_invalid_arguments(follow):
    with pytest.raises(CommandError, match="--key must be the verifier key of a log"):
        follow(key="x")
    with pytest.raises(CommandError, match="--interval must be a number"):
        follow("--interval", "0")
    with pytest.raises(CommandError, match="gave no answer"):
        call_command("follow_log", "http://127.0.0.1:9", "--key", LOG.verifier.vkey, "--once", stdout=StringIO())
