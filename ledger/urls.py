from django.urls import path, re_path

from ledger.pages import ExplorerViewSet, reference, reference_section
from ledger.views import BlockViewSet, NodeViewSet, ProofViewSet, RecordViewSet

handler400 = "config.api.errors.bad_request"
handler404 = "config.api.errors.not_found"
handler500 = "config.api.errors.server_error"

urlpatterns = [
    # Django tries routes in order, so the most frequent routes come first.
    path("anchor", RecordViewSet.as_view({"post": "anchor"})),
    path("", ExplorerViewSet.as_view({"get": "list"})),
    path("health", NodeViewSet.as_view({"get": "health"})),
    path("stats", NodeViewSet.as_view({"get": "stats"})),
    path("checkpoint", NodeViewSet.as_view({"get": "checkpoint"})),
    path("openapi.json", NodeViewSet.as_view({"get": "document"}), name="openapi"),
    path("docs", reference, name="docs"),
    path("docs/<slug:name>", reference_section, name="docs_section"),
    path("policy", NodeViewSet.as_view({"get": "policy"})),
    path("key", NodeViewSet.as_view({"get": "key"})),
    path("consistency", NodeViewSet.as_view({"get": "consistency"})),
    re_path(r"^tile/(?P<path>.*)\Z", NodeViewSet.as_view({"get": "tile"})),
    path("blocks", BlockViewSet.as_view({"get": "list"})),
    path("blocks/<str:number>", BlockViewSet.as_view({"get": "retrieve"})),
    path("hash/<str:report_hash>", RecordViewSet.as_view({"get": "hash"})),
    re_path(r"^user/(?P<user_id>[\s\S]+)/hashes\Z", RecordViewSet.as_view({"get": "user_hashes"})),
    path("anchor/batch", RecordViewSet.as_view({"post": "anchor_batch"})),
    path("proof/<str:report_hash>.tlog-proof", ProofViewSet.as_view({"get": "proof_file"})),
    path("proof/<str:report_hash>", ProofViewSet.as_view({"get": "proof"})),
    path("verify", ProofViewSet.as_view({"post": "verify"})),
]
