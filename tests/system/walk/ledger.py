"""Call the ledger operations whose recorded example is not sufficient."""

from hashlib import sha256

from config.ops import demo_ids
from tests.system.walk.service import Service

REPORT = demo_ids.REPORTS[0]["report_data"]


def walk(service: Service) -> str:
    """Verify the proof of REPORT, which `make run` has anchored; return the report's hash."""
    report_hash = sha256(REPORT.encode()).hexdigest()
    proof = service.call("GET /proof/{report_hash}.tlog-proof", report_hash=report_hash)
    service.call("POST /verify", {"proof": proof, "report_data": REPORT})
    return report_hash
