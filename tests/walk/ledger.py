"""Every operation of service B."""

import secrets

from tests.walk.service import Service

REPORT = "A walker's report."


def walk(service: Service) -> str:
    """Call every operation; return the hash of REPORT."""
    service.call("GET /")
    service.call("GET /health")
    service.call("GET /openapi.json")
    service.call("GET /key")
    service.call("GET /policy")
    report = {"user_id": "walker", "report_type": "credit_report", "report_data": REPORT}
    anchored = service.call("POST /anchor", report)
    of = {"report_hash": anchored["hash"]}
    service.call("POST /anchor/batch", {"items": [{**report, "report_data": secrets.token_hex(8)} for _ in range(3)]})
    service.call("GET /hash/{report_hash}", **of)
    service.call("GET /hash/{report_hash}", report_hash="none", status=400)
    service.call("GET /proof/{report_hash}", **of)
    proof = service.call("GET /proof/{report_hash}.tlog-proof", **of)
    service.call("POST /verify", {"proof": proof, "report_data": REPORT})
    service.call("GET /user/{user_id}/hashes", user_id="walker")
    service.call("GET /blocks")
    service.call("GET /blocks/{number}", number=anchored["block_number"])
    service.call("GET /checkpoint")
    size = service.call("GET /stats")["total_hashes"]
    service.call("GET /consistency", query={"from": 1, "to": size})
    service.call("GET /tile/{path}", path=f"0/000.p/{size}" if size < 256 else "0/000")
    return str(anchored["hash"])
