"""The HTTP API of service B (specification section 4.3, and proofs).

Each method converts a request to one call, and the result to a response. Other modules contain the rules.
"""

from functools import partial
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.http import HttpResponse
from rest_framework.decorators import renderer_classes
from rest_framework.response import Response

from config.api import heavy
from config.api.docs import document_bytes
from config.api.parsers import StrictJSONParser
from config.api.renderers import renderer_for
from config.api.serializers import PageQuery
from config.api.views import ApiRequest, also_answers, endpoint
from config.core.credentials import ANY_CALLER, PUBLIC, InsufficientScope
from config.core.errors import NotFound, UserMismatch, ValidationFailed
from config.core.ids import first_or, parse_positive_int64
from ledger import log, serializers, tiles, witnessing
from ledger.access import HasListedKey, LedgerViewSet
from ledger.credentials import ANCHOR_SCOPE, CALLER_ERRORS, LIST_SCOPE
from ledger.entries import USER_ID_MAX, Receipt, Submission, has_dot_segment
from ledger.errors import InvalidHashError, LogUnavailableError, NotWitnessedYetError
from ledger.group_commit import group_commit
from ledger.keys import signer
from ledger.models import Block
from ledger.proof_file import parse_report_hash, report_digest
from ledger.status import NodeStatus, node_status, status_in_time

TEXT = "text/plain; charset=utf-8"
BYTES = "application/octet-stream"
# A tile or bundle at a path never changes, and tlog-tiles recommends long caching.
FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}
FIVE_MINUTES = {"Cache-Control": "public, max-age=300"}

_SHOWN_OF_A_RECORD = ("hash", "user_id", "report_type", "block_number", "timestamp")
_anchors = partial(endpoint, access=ANCHOR_SCOPE, caller_errors=CALLER_ERRORS)
_proves = partial(
    endpoint,
    access=PUBLIC,
    query=serializers.ProofQuery,
    errors=(InvalidHashError, NotFound, LogUnavailableError, NotWitnessedYetError),
)


def read_hash(text: str) -> bytes:
    """Parse the hash in a path or body. Raises InvalidHashError if it is not 64 hex characters."""
    report_hash = parse_report_hash(text)
    if report_hash is None:
        raise InvalidHashError
    return report_hash


def read_user_id(text: str) -> str:
    """Return the user id in a path. Rejects `.` and `..`, because clients resolve these segments."""
    if has_dot_segment(text):
        raise NotFound
    if "\0" in text or len(text) > USER_ID_MAX:
        raise ValidationFailed(
            f"`user_id` must have 1 to {USER_ID_MAX} characters, without NUL.",
            details=[{"field": "user_id", "message": "The user id is not valid."}],
        )
    return text


class ReportParser(StrictJSONParser):
    max_bytes = serializers.BODY_MAX_BYTES


class ProofParser(StrictJSONParser):
    max_bytes = serializers.VERIFY_BODY_MAX_BYTES


class NodeViewSet(LedgerViewSet):
    """A log that anchors hashes of reports and proves them: anchors, proofs, blocks, checkpoints, witnesses."""

    @also_answers(503, serializers.HealthSerializer, "The service is unhealthy. The body has the same fields.")
    @endpoint(access=PUBLIC, limit="health", answer=serializers.HealthSerializer)
    def health(self, _request: ApiRequest) -> NodeStatus | Response:
        """Check the health of the node.

        `degraded` means that the node can read the log, but can't sign. Possible causes are a database that is
        read-only or lacks signed entries, a guard file that is lost or not writable, and a changed key. If the node
        can't read the log, or its database is not migrated, it returns 503 with the same fields.
        """
        status = status_in_time()
        if status is not None:
            return status
        unreachable = NodeStatus(is_syncing=group_commit.is_busy)
        return Response(serializers.HealthSerializer.represent(unreachable), status=503)

    @endpoint(access=PUBLIC, answer=serializers.StatsSerializer)
    def stats(self, _request: ApiRequest) -> NodeStatus:
        """Count blocks and hashes."""
        return node_status()

    @renderer_classes([renderer_for("text/plain")])
    @endpoint(access=PUBLIC, errors=(NotFound, LogUnavailableError))
    def checkpoint(self, _request: ApiRequest) -> HttpResponse:
        """Get the newest signed tree head.

        The response is a checkpoint (C2SP tlog-checkpoint) with its current cosignatures.
        """
        head = log.read_head()
        if head.number == 0:
            raise NotFound("The log has no entries yet, so it has no checkpoint.")
        return HttpResponse(log.cosigned_checkpoint(head), content_type=TEXT)

    @renderer_classes([renderer_for("text/plain")])
    @endpoint(access=PUBLIC)
    def policy(self, _request: ApiRequest) -> HttpResponse:
        """Get the log's key and witness policy.

        The response has this log's key, its witnesses, and their quorum (C2SP tlog-policy), for verifiers of proofs.
        Store the policy at a time when you trust the log: verifiers check proofs with these keys, and the keys come
        from the log itself.
        """
        return HttpResponse(witnessing.published_policy(), content_type=TEXT)

    @endpoint(access=PUBLIC, answer=serializers.KeySerializer)
    def key(self, _request: ApiRequest) -> dict[str, Any]:
        """Get the public key that signs checkpoints.

        The response also has the URLs of the previous and the next log.
        """
        key = signer()
        pem = key.private_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return {
            "origin": key.name,
            "vkey": key.verifier.vkey,
            "pem": pem.decode(),
            "previous": settings.LEDGER_PREVIOUS_URL or None,
            "next": settings.LEDGER_NEXT_URL or None,
        }

    @endpoint(access=PUBLIC)
    def document(self, _request: ApiRequest) -> HttpResponse:
        """Get the OpenAPI 3.1 document of this service."""
        return HttpResponse(document_bytes("ledger.urls"), content_type="application/json", headers=FIVE_MINUTES)

    @endpoint(access=PUBLIC, query=serializers.ConsistencyQuery, answer=serializers.ConsistencySerializer)
    def consistency(self, _request: ApiRequest, query: dict[str, Any]) -> dict[str, Any]:
        """Get a consistency proof between two tree sizes.

        The proof shows that the tree of `to` entries starts with the tree of `from` entries.
        """
        old_size, new_size, head = query["from"], query["to"], log.read_head()
        if not old_size <= new_size <= head.tree_size:
            limit = f"at most {head.tree_size} (the current size)"
            raise ValidationFailed(f"`from` and `to` must be tree sizes in ascending order, {limit}.")
        proof = log.consistency_proof(old_size, new_size, head)
        return {"from": old_size, "to": new_size, "proof": [digest.hex() for digest in proof]}

    @renderer_classes([renderer_for(BYTES)])
    @endpoint(access=PUBLIC, errors=(NotFound,))
    def tile(self, _request: ApiRequest, path: str) -> HttpResponse:
        """Get a tile of the tree.

        The response has tree hashes, or a bundle of entries (C2SP tlog-tiles).
        """
        try:
            name = tiles.parse_tile_path(path)
        except ValueError as error:
            raise NotFound("The path must be the canonical path of a tile.") from error
        content = log.read_tile(name)
        if content is None:
            raise NotFound("The tree has fewer entries than this tile.")
        return HttpResponse(content, content_type=BYTES, headers=FOR_EVER)


class BlockViewSet(LedgerViewSet):
    @endpoint(access=PUBLIC, query=PageQuery, answer=serializers.BlocksPageSerializer)
    def list(self, _request: ApiRequest, query: dict[str, Any]) -> dict[str, Any]:
        """List blocks.

        The newest block is first.
        """
        blocks, total = log.list_blocks(**query)
        return {"blocks": blocks, "total": total}

    @endpoint(access=PUBLIC, answer=serializers.BlockSerializer, errors=(NotFound,))
    def retrieve(self, _request: ApiRequest, number: str) -> Block:
        """Get a block."""
        return first_or(Block.objects.filter(number=parse_positive_int64(number) or 0), NotFound("Block not found."))


class RecordViewSet(LedgerViewSet):
    parser_classes = [ReportParser]

    def get_permissions(self) -> list[Any]:
        return [*super().get_permissions(), *([HasListedKey()] if self.action == "anchor_batch" else [])]

    @endpoint(access=PUBLIC, answer=serializers.HashPageSerializer, errors=(InvalidHashError, NotFound))
    def hash(self, request: ApiRequest, report_hash: str) -> dict[str, Any]:
        """Check whether a hash is anchored.

        The response has the first entry of the hash. For an absent hash, the ledger returns 200 with `verified` false,
        or 404 under `Prefer: handling=strict`.
        """
        digest = read_hash(report_hash)
        record = log.find_record(digest)
        if record is not None:
            return {"verified": True, **{name: getattr(record, name) for name in _SHOWN_OF_A_RECORD}}
        if prefers_strict(request.META.get("HTTP_PREFER", "")):
            raise NotFound("This hash is not anchored here.")
        return {"verified": False, "hash": digest, "message": "This hash is not anchored here."}

    @endpoint(
        access=ANY_CALLER,
        query=serializers.UserHashesQuery,
        answer=serializers.UserHashesSerializer,
        caller_errors=CALLER_ERRORS,
        errors=(InsufficientScope, UserMismatch, NotFound),
    )
    def user_hashes(self, _request: ApiRequest, user_id: str, query: dict[str, Any]) -> dict[str, Any]:
        """List the hashes of a user.

        The oldest hash is first. In production, the ledger requires a token of the user or of staff, or a key in
        `LEDGER_API_KEYS`. A token with scopes also requires `identity:read`. In development, the ledger requires no
        credential.
        """
        account_id = read_user_id(user_id)
        self.caller.check(account_id, LIST_SCOPE)
        records, total = log.user_records(account_id, **query)
        return {"user_id": account_id, "hashes": records, "total": total}

    @heavy.operation(when=heavy.has_large_body)
    @_anchors(
        body=serializers.AnchorRequestSerializer,
        answer=serializers.AnchorSerializer,
        errors=(UserMismatch, LogUnavailableError),
    )
    def anchor(self, _request: ApiRequest, body: dict[str, Any]) -> Receipt:
        """Anchor a report.

        The ledger responds once the report is in a committed and signed block.

        The report types `application_decision`, `acceptance`, `scoring_model_version`, `notice`, `record_key`,
        `contract_withdrawal`, and `release` are reserved for the platform and the keys in `LEDGER_API_KEYS`. Other
        callers get 403.

        With an access token of an account that is not staff, `user_id` must be the account's id. In development, the
        ledger requires no credential.
        """
        self.caller.check_anchoring(body)
        return group_commit.anchor([submission_of(body)])[0]

    @heavy.operation(when=heavy.has_large_body)
    @_anchors(
        body=serializers.BatchRequestSerializer, answer=serializers.BatchSerializer, errors=(LogUnavailableError,)
    )
    def anchor_batch(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:
        """Anchor up to 1,000 reports in one block.

        The ledger anchors all reports or none. Reports that were already anchored stay in their blocks. In production,
        the ledger requires a key in `LEDGER_API_KEYS`. Each report counts toward the limit of writes.
        """
        self.take_permits(request, len(body["items"]) - 1)
        for item in body["items"]:
            self.caller.check_anchoring(item)
        receipts = group_commit.anchor([submission_of(item) for item in body["items"]])
        # Entries that were already anchored are in earlier blocks.
        return {"block_number": max(receipt.block_number for receipt in receipts), "results": receipts}


class ProofViewSet(LedgerViewSet):
    parser_classes = [ProofParser]

    @_proves(answer=serializers.ProofSerializer)
    def proof(self, _request: ApiRequest, report_hash: str, query: dict[str, Any]) -> log.Proof:
        """Get the inclusion proof of a hash.

        The proof is for the earliest entry, or for the entry at `index`. With `witnessed=1`, the proof is for the
        newest checkpoint that has the quorum of the witnesses. The ledger waits up to 20 s for this checkpoint.
        """
        return self._prove(report_hash, query)

    @renderer_classes([renderer_for("text/plain")])
    @_proves()
    def proof_file(self, _request: ApiRequest, report_hash: str, query: dict[str, Any]) -> HttpResponse:
        """Download an inclusion proof as a file.

        The file has the same proof in the format of C2SP tlog-proof.
        """
        proof = self._prove(report_hash, query)
        name = f"{proof.record.hash.hex()}.tlog-proof"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return HttpResponse(proof.file().text(), content_type=TEXT, headers=headers)

    @heavy.operation(when=heavy.has_large_body)
    @endpoint(
        access=PUBLIC,
        body=serializers.VerifyRequestSerializer,
        answer=serializers.VerdictSerializer,
        errors=(InvalidHashError, LogUnavailableError),
    )
    def verify(self, _request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:
        """Verify a proof file.

        The ledger checks the file against a report or its hash, and returns each step. A report has at
        most 10 MiB, and the body at most 32 MiB. For a larger report or body, send the hash of the report.
        """
        digest = body.get("hash")
        report_hash = read_hash(digest) if digest is not None else report_digest(body["report_data"])
        steps = log.verify_proof(body["proof"], report_hash)
        return {"verified": steps[-1].ok, "steps": steps}

    def _prove(self, report_hash: str, query: dict[str, Any]) -> log.Proof:
        record = log.find_record(read_hash(report_hash), query.get("index"))
        if record is None:
            raise NotFound("This hash is not anchored here.")
        head = witnessing.wait_for_head(record.index) if query["witnessed"] == "1" else log.read_head()
        return log.prove_record(record, head)


def submission_of(item: dict[str, Any]) -> Submission:
    """Convert a validated item to a submission. The report's data is hashed here, and not stored."""
    return Submission(report_digest(item["report_data"]), item["user_id"], item["report_type"])


def prefers_strict(header: str) -> bool:
    preferences = (preference.partition(";")[0] for preference in header.split(","))
    return any(preference.replace(" ", "").replace('"', "").lower() == "handling=strict" for preference in preferences)
