"""The ledger explorer in a real browser verifies displayed data and stored proof files."""

from urllib.parse import urlsplit

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from ledger import witnessing
from ledger.proof_file import report_digest
from tests.ledger.conftest import seal_reports
from tests.ledger.witnesses import Witness, policy_of, serving
from tests.processes import PATIENCE_SECONDS
from tests.system.browsing import check_at_widths, fits, open_page

WIDTHS = (1440, 390)
DASH = "\N{EN DASH}"
CANNOT = "This browser cannot check Ed25519 signatures"

pytestmark = pytest.mark.urls("ledger.urls")


@pytest.fixture
def anchored(committed_log, settings, tmp_path):
    """The file of a report that is anchored in a log, which two of three witnesses have cosigned."""
    for size in (3, 40, 100, 7, 150):
        seal_reports([f"other {size} {number}" for number in range(size)])
    for number in range(6):
        seal_reports([f"more {number}"])
    seal_reports([f"report {number}" for number in range(300)])
    with serving(*(Witness(number) for number in (1, 2))) as addresses:
        (tmp_path / "policy").write_text(policy_of([*addresses, "http://127.0.0.1:9"]))
        settings.WITNESS_POLICY = str(tmp_path / "policy")
        witnessing.Asker(witnessing.policy()).ask(now=timezone.now())
    file = tmp_path / "report.json"
    file.write_text("report 123")
    return file


def test_the_ledger_explorer_hashes_a_file_and_recomputes_its_inclusion_path(chromium, anchored, live_server):
    page = open_page(chromium, live_server.url)
    sent = []
    page.on("request", lambda request: sent.append((request.method, request.post_data)))
    page.set_input_files("#file", str(anchored))
    page.wait_for_selector("#checked:not(:empty)")
    assert "leads from this hash to the signed root" in page.inner_text("#checked")
    assert page.locator(".pair .tick.done").count() == page.locator(".pair").count() > 0
    assert {method for method, _ in sent} == {"GET"}
    assert all(body is None for _, body in sent)
    assert page.complaints == []


def test_the_ledger_explorer_detects_a_forged_inclusion_path(chromium, anchored, live_server):
    page = open_page(chromium, live_server.url)

    def forge(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('data-side="left"', 'data-side="right"', 1))

    page.route("**/?hash=*", forge)
    page.set_input_files("#file", str(anchored))
    page.wait_for_selector("#checked.wrong")
    assert "Do not trust this page" in page.inner_text("#checked")


def test_a_hash_look_up_in_the_ledger_explorer_works_without_javascript(chromium, anchored, live_server):
    page = open_page(chromium, live_server.url, java_script_enabled=False, viewport={"width": 360, "height": 740})
    assert not page.is_visible("#drop")
    page.fill("#hash", "ab" * 32)
    page.click("button")
    assert "Not anchored here" in page.inner_text("#result")
    assert fits(page)


@pytest.fixture
def stored_proof(anchored, client, tmp_path):
    """A stored proof file of the report."""
    file = tmp_path / "kept.tlog-proof"
    file.write_bytes(client.get(f"/proof/{report_digest('report 123').hex()}.tlog-proof?witnessed=1").content)
    return file


@pytest.fixture
def page(anchored, chromium, live_server):
    """The front page of the explorer."""
    return open_page(chromium, live_server.url)


def check(page, *files):
    """Select files for verification; return (step, mark) pairs, and the verdict."""
    page.set_input_files("#kept-files", [str(file) for file in files])
    page.wait_for_selector("#kept-verdict:not(:empty)")
    steps = [item.split("\n")[:2] for item in page.locator("#kept-steps li").all_inner_texts()]
    return [(name, mark) for mark, name in steps], page.inner_text("#kept-verdict")


def test_the_ledger_explorer_verifies_a_stored_proof_and_report_in_five_steps(page, stored_proof, anchored):
    sent = []
    page.on("request", lambda request: sent.append(urlsplit(request.url).path))
    steps, verdict = check(page, stored_proof, anchored)
    assert [name for name, _ in steps] == ["file", "checkpoint", "witnesses", "leaf", "inclusion"]
    assert [mark for _, mark in steps] == ["✓"] * 5
    assert verdict.startswith("Proven")
    assert "2 of 3 witnesses cosigned: w1 at 20" in page.inner_text("#kept-steps")
    assert {*sent} <= {"/static/ledger/icon.svg"}  # the browser may request the icon
    assert page.complaints == []


def test_proof_and_report_can_be_selected_separately_in_the_ledger_explorer(page, stored_proof, anchored, tmp_path):
    (tmp_path / "hello").write_text("hello")
    page.set_input_files("#kept-files", str(tmp_path / "hello"))
    page.wait_for_function("document.getElementById('kept-state').textContent.includes('now the proof file')")
    page.reload()
    page.set_input_files("#file", str(stored_proof))
    page.wait_for_function("document.getElementById('kept-state').textContent.includes('now the report')")
    _, verdict = check(page, anchored)
    assert not verdict.startswith("Not proven")


def test_the_ledger_explorer_rejects_a_changed_proof_or_report(chromium, live_server, stored_proof, anchored, tmp_path):
    good, other = stored_proof.read_text(), tmp_path / "other.json"
    other.write_text("report 124")
    for old, new, report, fails_at in (
        ("index ", "index 0", anchored, "file"),
        ("extra ", "Extra ", anchored, "file"),
        ("\n606\n", "\n607\n", anchored, "checkpoint"),
        ("index 429\n", "index 428\n", anchored, "inclusion"),
        ("", "", other, "inclusion"),
    ):
        assert old in good
        stored_proof.write_text(good.replace(old, new))
        steps, verdict = check(open_page(chromium, live_server.url), stored_proof, report)
        assert steps[-1] == (fails_at, "✗")
        assert verdict.startswith("Not proven")


def test_the_ledger_explorer_rejects_a_proof_below_the_quorum_of_the_policy(page, stored_proof, anchored):
    check(page, stored_proof, anchored)
    page.click("summary:has-text('Trusted keys')")
    stricter_policy = page.input_value("#policy").replace("all-of-them 2", "all-of-them 3")
    page.fill("#policy", stricter_policy)
    page.locator("#policy").blur()
    page.wait_for_selector("#kept-verdict.wrong")
    assert "The quorum, all-of-them, is not reached." in page.inner_text("#kept-steps")


def test_the_ledger_explorer_verifies_its_displayed_checkpoint(page, chromium, live_server):
    page.wait_for_selector("#newest-checked:not(:empty)")
    assert "2 of 3 witnesses cosigned" in page.inner_text("#newest-checked")
    assert page.locator("[data-witness].done").count() == 2
    forged_page = chromium.new_context().new_page()

    def forge(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("\n606\n", "\n607\n"))

    forged_page.route(live_server.url + "/", forge)
    forged_page.goto(live_server.url)
    forged_page.wait_for_selector("#newest-checked.wrong")
    assert "Do not trust this page" in forged_page.inner_text("#newest-checked")


def test_the_ledger_explorer_shows_a_message_without_ed25519_support(chromium, live_server, stored_proof, anchored):
    page = chromium.new_context().new_page()
    page.add_init_script("crypto.subtle.generateKey = () => Promise.reject(new Error('not supported'))")
    page.goto(live_server.url)
    steps, verdict = check(page, stored_proof, anchored)
    assert [mark for _, mark in steps] == ["✓", DASH, DASH, "✓", "✓"]
    assert CANNOT in page.inner_text("#newest-checked")
    assert "cannot check who signed it" in verdict


def test_the_ledger_explorer_pages_through_blocks_and_entries(page):
    numbers, patience = page.locator("th[scope=row]"), 1_000 * PATIENCE_SECONDS
    assert numbers.all_inner_texts() == [str(number) for number in range(12, 4, -1)]
    page.click("a:text-is('older')")
    expect(numbers).to_have_text(["4", "3", "2", "1"], timeout=patience)
    assert page.locator("a:text-is('older')").count() == 0
    page.click("a:text-is('newer')")
    expect(numbers.first).to_have_text("12", timeout=patience)
    page.click("th[scope=row] a >> nth=0")
    expect(page.locator(".entries li")).to_have_count(50, timeout=patience)
    page.click("text=later entries")
    expect(page.locator(".entries li").first).to_have_attribute("value", "356", timeout=patience)
    page.click(".entries a >> nth=0")
    page.wait_for_selector("#checked:not(:empty)")
    assert "signed root" in page.inner_text("#checked")
    assert page.complaints == []


def test_every_page_of_the_ledger_explorer_fits_the_screen_and_passes_axe(
    chromium, live_server, stored_proof, anchored
):
    hash_of = report_digest("report 123").hex()
    for name, query in (("front", ""), ("block", "?block=12"), ("proof", f"?hash={hash_of}"), ("older", "?before=5")):
        page = open_page(chromium, f"{live_server.url}/{query}")
        if name == "front":
            check(page, stored_proof, anchored)
        for summary in page.locator("summary").all():
            summary.click()
        assert page.complaints == []
        check_at_widths(page, f"explorer-{name}", WIDTHS)
