"""The HTML pages: the explorer, whose look-ups work without JavaScript, and the API reference."""

from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import get_template
from django.urls import reverse
from django.views.decorators.gzip import gzip_page

from config.api.docs import reading
from config.api.reference_pages import overview, section
from config.api.renderers import renderer_for
from config.api.views import ApiRequest, endpoint
from config.core.credentials import PUBLIC
from config.core.ids import parse_positive_int64
from ledger import log, merkle, witnessing
from ledger.access import LedgerViewSet
from ledger.keys import signer
from ledger.models import Block, Cosignature, Entry
from ledger.proof_file import parse_report_hash
from ledger.status import node_status

RECENT_BLOCKS = 8
ENTRIES_SHOWN = 50
GROWTH_POINTS = 60
GROWTH_WIDTH, GROWTH_HEIGHT = 600, 120  # the size of the chart in units of the SVG
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def rungs(proof: log.Proof) -> list[dict[str, Any]]:
    """Return the steps of the audit path from leaf to root. Each step has a node, its sibling, and their parent."""
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


def growth(head: log.Head) -> dict[str, Any]:
    """Return the points of the chart of the log's size.

    The points come from at most GROWTH_POINTS evenly spaced blocks.
    """
    steps = min(head.number, GROWTH_POINTS)
    numbers = {1 + (head.number - 1) * step // max(1, steps - 1) for step in range(steps)}
    blocks = list(Block.objects.filter(number__in=numbers).order_by("number").values_list("timestamp", "tree_size"))
    moments = [datetime.fromisoformat(timestamp).timestamp() for timestamp, _ in blocks]
    span = max(moments[-1] - moments[0], 1e-6)
    points, y = [], GROWTH_HEIGHT
    for moment, (_, size) in zip(moments, blocks, strict=True):
        x = round((moment - moments[0]) / span * GROWTH_WIDTH)
        points += [(x, y), (x, y := round(GROWTH_HEIGHT - size / head.tree_size * (GROWTH_HEIGHT - 4)))]
    points.append((GROWTH_WIDTH, y))
    line = " ".join(f"{x},{y}" for x, y in points)
    return {
        "width": GROWTH_WIDTH,
        "height": GROWTH_HEIGHT,
        "line": line,
        "area": f"0,{GROWTH_HEIGHT} {line} {GROWTH_WIDTH},{GROWTH_HEIGHT}",
        "first": blocks[0][0],
        "last": blocks[-1][0],
    }


def witnesses(head: log.Head) -> list[dict[str, Any]]:
    policy = witnessing.policy()
    rows = []
    for witness in policy.witnesses if policy else []:
        cosignatures = Cosignature.objects.filter(witness=witness.verifier.vkey).order_by("-timestamp", "-block_id")
        number, seconds = cosignatures.values_list("block_id", "timestamp").first() or (0, None)
        at = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
        rows.append({"name": witness.name, "at": at, "is_newest": number == head.number})
    return rows


def entries_of(block: Block, offset: int) -> dict[str, Any]:
    before = Block.objects.filter(number=block.number - 1).values_list("tree_size", flat=True).first() or 0
    offset = min(offset, block.tree_size - before - 1)
    first = before + offset
    entries = Entry.objects.filter(index__gte=first, index__lt=min(first + ENTRIES_SHOWN, block.tree_size))
    return {
        "entries": entries.order_by("index").only("index", "hash"),
        "entries_before": max(0, offset - ENTRIES_SHOWN) if offset else None,
        "entries_after": offset + ENTRIES_SHOWN if first + ENTRIES_SHOWN < block.tree_size else None,
    }


class ExplorerViewSet(LedgerViewSet):
    renderer_classes = [renderer_for("text/html")]

    @endpoint(access=PUBLIC)
    def list(self, request: ApiRequest) -> HttpResponse:
        """Browse blocks, entries, and proofs.

        The page shows the list of blocks, a block with its entries, or a hash with the path of its inclusion proof.
        """
        head = log.read_head()
        end = head.number + 1
        before = max(min(parse_positive_int64(request.GET.get("before", "")) or end, end), min(2, end))
        blocks, total = log.list_blocks(limit=RECENT_BLOCKS, offset=end - before)
        searched = request.GET.get("hash", "").strip()
        context: dict[str, Any] = {
            "origin": signer().name,
            "vkey": signer().verifier.vkey,
            "node": node_status(),
            "blocks": blocks,
            "total": total,
            "newer": before + RECENT_BLOCKS if before < end else None,
            "older": blocks[-1].number if blocks and blocks[-1].number > 1 else None,
            "asked": searched,
            "policy": witnessing.published_policy(),
            "witnesses": witnesses(head),
        }
        if head.number:
            context |= {"growth": growth(head), "newest_note": log.cosigned_checkpoint(head)}
        if searched:
            context |= self._look_up(searched)
        number = parse_positive_int64(request.GET.get("block", ""))
        if number is not None:
            block = Block.objects.filter(number=number).first()
            context |= {"block": block, "block_number": number}
            if block is not None:
                context |= entries_of(block, parse_positive_int64(request.GET.get("entries", "")) or 0)
        page = get_template("ledger/explorer.html").render(context)
        return HttpResponse(page, content_type="text/html; charset=utf-8", headers=_HEADERS)

    def _look_up(self, searched: str) -> dict[str, Any]:
        report_hash = parse_report_hash(searched)
        if report_hash is None:
            return {"verdict": "malformed"}
        proof, asks = log.prove(report_hash), witnessing.policy()
        if proof is None:
            return {"verdict": "absent", "hash": report_hash.hex()}
        return {
            "verdict": "anchored",
            "hash": report_hash.hex(),
            "proof": proof,
            "rungs": rungs(proof),
            # If a checkpoint has a quorum, the downloadable proof uses it.
            "is_witnessed": asks is not None and witnessing.witnessed_head(asks, proof.record.index) is not None,
        }


@gzip_page
@reading
def reference(request: HttpRequest) -> HttpResponse:
    return overview(request, **_frame())


@gzip_page
@reading
def reference_section(request: HttpRequest, name: str) -> HttpResponse:  # noqa: ARG001
    return section(name, **_frame())


def _frame() -> dict[str, Any]:
    document = reverse("openapi")
    links = [("Explorer", "/"), ("OpenAPI document", document)]
    names = {"name": "Anchoring ledger", "home": "/", "icon": "ledger/icon.svg"}
    return {**names, "document": document, "links": links, "errors": "", "try_page": "", "guides": ""}
