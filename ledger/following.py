"""Follow any log with C2SP tiles (tlog-tiles), and verify that each head extends the previous head.

The follower requests only the few tiles that a consistency proof requires. The tiles are not trusted. The tiles must
prove that the new head extends the stored head. The log must have signed both heads.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from config.core.outgoing import NoAnswer, exchange
from ledger import merkle, tiles
from ledger.checkpoint import MAX_NOTE_BYTES, Checkpoint, NoteError, Verifier, open_checkpoint

FETCH_SECONDS = 10.0  # the time limit of the request for a checkpoint or a tile


class FollowError(Exception):
    """The log can't be followed now: its server is not available, or its data is invalid."""


class ForkError(Exception):
    """The log signed two inconsistent heads. `evidence` is a text with both checkpoints."""

    def __init__(self, kept: str, served: str, reason: str) -> None:
        super().__init__(f"The log does not continue the stored head: {reason}.")
        self.evidence = (
            f"Two checkpoints that one log signed, and that are not consistent: {reason}.\n\n"
            f"--- kept ---\n{kept}\n--- served ---\n{served}"
        )


@dataclass
class Follower:
    """A log with the URL prefix `url`, and the file with the log's newest verified checkpoint."""

    url: str
    verifier: Verifier
    state: Path
    is_stopped: Callable[[], bool] | None = None  # called during the wait for a response

    def follow(self) -> Checkpoint:
        """Verify the newest checkpoint against the stored checkpoint. Store and return the larger checkpoint.

        If no checkpoint is stored, the newest checkpoint becomes trusted after the tiles prove its root. Raises
        FollowError. Raises ForkError, and then stores nothing.
        """
        note = self._fetch("checkpoint", MAX_NOTE_BYTES, "the checkpoint")
        try:
            text = (note or b"").decode()
            served = open_checkpoint(text, self.verifier)
        except (NoteError, UnicodeDecodeError) as error:
            raise FollowError(f"The checkpoint is not this log's: {error}.") from error
        kept = self._read_state()
        if kept is None:
            if self._roots([(0, served.size)], served.size) != [served.root]:
                raise FollowError("The log's tiles have another root than its checkpoint.")
        else:
            kept_text, head = kept
            self._compare(head, served, kept_text, text)
            if served.size <= head.size:  # a cache may serve an older head of the same tree
                return head
        self._write_state(text)
        return served

    def _compare(self, kept: Checkpoint, served: Checkpoint, kept_text: str, served_text: str) -> None:
        """Raise ForkError if neither head extends the other head."""
        old, new = sorted((kept, served), key=lambda head: head.size)
        if old.size == new.size:
            if old.root != new.root:
                raise ForkError(kept_text, served_text, f"two roots for {old.size} entries")
            return
        proof = self._roots(merkle.consistency_ranges(old.size, new.size), new.size)
        if self._roots([(0, new.size)], new.size) != [new.root]:
            # Tiles that do not match any of the two roots prove nothing about the checkpoints.
            reason = f"the log's tiles do not have the root of the checkpoint over {new.size} entries"
            if new is kept:
                raise ForkError(kept_text, served_text, reason)
            raise FollowError(f"{reason[0].upper()}{reason[1:]}.")
        try:
            merkle.verify_consistency(old.size, new.size, proof, old.root, new.root)
        except merkle.InvalidProofError as error:
            reason = f"the tree of {new.size} entries does not begin with the tree of {old.size} entries ({error})"
            raise ForkError(kept_text, served_text, reason) from error

    def _roots(self, ranges: list[merkle.Range], size: int) -> list[bytes]:
        plan = tiles.Plan(ranges, known={})
        stored = {(level, index): self._tile(level, index, size) for level, index in plan.tiles}
        return plan.roots(stored)

    def _tile(self, level: int, index: int, size: int) -> bytes:
        width = tiles.width_of(level, index, size)
        names = [tiles.TileName(level, index, width)]
        if width < tiles.TILE_WIDTH:
            names.append(tiles.TileName(level, index))  # a log may delete a partial tile after the full tile exists
        for name in names:
            content = self._fetch(f"tile/{name.path()}", tiles.FULL_TILE_BYTES, f"tile {name.path()}")
            if content is not None:
                if len(content) != name.width * merkle.HASH_BYTES:
                    raise FollowError(f"Tile {name.path()} has {len(content)} bytes.")
                return content[: width * merkle.HASH_BYTES]
        raise FollowError(f"The log does not serve tile {names[0].path()}.")

    def _fetch(self, path: str, max_bytes: int, name: str) -> bytes | None:
        """Return the log's file at this path, or None if it is missing. Raises FollowError on a failure."""
        try:
            answer = exchange(
                "GET",
                f"{self.url.rstrip('/')}/{path}",
                seconds=FETCH_SECONDS,
                max_bytes=max_bytes,
                is_stopped=self.is_stopped,
            )
        except NoAnswer as error:
            raise FollowError(f"{self.url} gave no answer for {name} ({error.word}).") from error
        if answer.status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
            return None
        if answer.status != HTTPStatus.OK:
            raise FollowError(f"{self.url} answered {answer.status} for {name}.")
        return answer.body

    def _read_state(self) -> tuple[str, Checkpoint] | None:
        """Load and verify the stored checkpoint. Raises FollowError for another log or an invalid file."""
        try:
            text = self.state.read_text()
            return text, open_checkpoint(text, self.verifier)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError, NoteError) as error:
            raise FollowError(f"{self.state} holds no checkpoint of this log: {error}.") from error

    def _write_state(self, text: str) -> None:
        draft = self.state.with_name(f"{self.state.name}.new")
        try:
            self.state.parent.mkdir(parents=True, exist_ok=True)
            with draft.open("w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.state)
        except OSError as error:
            raise FollowError(f"{self.state} cannot be written ({error.strerror}).") from error
