"""Every operation of service B."""

from hashlib import sha256

from config.ops import demo_ids
from tests.system.walk.service import Service

REPORT = demo_ids.REPORTS[0]["report_data"]


def walk(service: Service) -> str:
    """Call every operation; return the hash of REPORT, which `make run` has anchored."""
    service.call("GET /")
    service.call("GET /health")
    service.call("GET /openapi.json")
    service.call("GET /key")
    service.call("GET /policy")
    report_hash = sha256(REPORT.encode()).hexdigest()
    of = {"report_hash": report_hash}
    service.call("GET /hash/{report_hash}", **of)
    service.call("GET /hash/{report_hash}", report_hash="none", status=400)
    service.call("GET /proof/{report_hash}", **of)
    proof = service.call("GET /proof/{report_hash}.tlog-proof", **of)
    service.call("POST /verify", {"proof": proof, "report_data": REPORT})
    user_id = demo_ids.REPORTS[0]["user_id"]
    service.call("GET /user/{user_id}/hashes", user_id=user_id)
    report = {"user_id": user_id, "report_type": "credit_report", "report_data": "A walker's report."}
    service.call("POST /anchor", report)
    service.call("POST /anchor/batch", {"items": [{**report, "report_data": f"Report {one}"} for one in range(3)]})
    service.call("GET /blocks")
    service.call("GET /blocks/{number}", number=1)
    service.call("GET /checkpoint")
    service.call("GET /stats")
    service.call("GET /consistency", query={"from": 1, "to": len(demo_ids.REPORTS)})
    service.call("GET /tile/{path}", path=f"0/000.p/{len(demo_ids.REPORTS)}")
    return report_hash
