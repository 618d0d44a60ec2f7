"""The explorer: one page for people, rendered here, that works without JavaScript for look-ups."""

from typing import Any

from django.http import HttpResponse
from django.template.loader import get_template

from config.api.credentials import PUBLIC
from config.api.views import ApiRequest, endpoint
from config.core.ids import parse_positive_int64
from ledger import log, merkle
from ledger.access import LedgerViewSet
from ledger.checkpoint import encode_base64
from ledger.keys import signer
from ledger.models import Block
from ledger.proofs import parse_report_hash
from ledger.status import node_status

RECENT_BLOCKS = 8
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def rungs(proof: log.Proof) -> list[dict[str, Any]]:
    """Return the audit path from leaf to root: our node, its sibling and on which side that is, their parent."""
    node = proof.record.leaf_hash
    steps = []
    ranges = merkle.inclusion_ranges(proof.record.index, proof.head.tree_size)
    for number, ((start, _), sibling) in enumerate(zip(ranges, proof.path, strict=True), start=1):
        is_left = start < proof.record.index
        parent = merkle.node_hash(sibling, node) if is_left else merkle.node_hash(node, sibling)
        pair = {"node": node.hex(), "sibling": sibling.hex(), "is_left": is_left, "parent": parent.hex()}
        steps.append({"level": number, **pair})
        node = parent
    return steps


class ExplorerViewSet(LedgerViewSet):
    @endpoint(access=PUBLIC, media_type="text/html")
    def page(self, request: ApiRequest) -> HttpResponse:
        """Show the newest blocks, one block, or whether a hash is anchored and its proof as a path."""
        blocks, total = log.list_blocks(limit=RECENT_BLOCKS, offset=0)
        asked = request.GET.get("hash", "").strip()
        context: dict[str, Any] = {
            "origin": signer().name,
            "vkey": signer().verifier.vkey,
            "node": node_status(),
            "blocks": blocks,
            "total": total,
            "asked": asked,
        }
        if asked:
            context |= self._look_up(asked)
        number = parse_positive_int64(request.GET.get("block", ""))
        if number is not None:
            context |= {"block": Block.objects.filter(number=number).first(), "block_number": number}
        page = get_template("ledger/explorer.html").render(context)
        return HttpResponse(page, content_type="text/html; charset=utf-8", headers=_HEADERS)

    def _look_up(self, asked: str) -> dict[str, Any]:
        report_hash = parse_report_hash(asked)
        if report_hash is None:
            return {"verdict": "malformed"}
        proof = log.prove(report_hash)
        if proof is None:
            return {"verdict": "absent", "hash": report_hash.hex()}
        return {
            "verdict": "anchored",
            "hash": report_hash.hex(),
            "proof": proof,
            "rungs": rungs(proof),
            "root_base64": encode_base64(proof.head.root),
        }
