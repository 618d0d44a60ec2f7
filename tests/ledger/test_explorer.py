"""Test the explorer page without JavaScript, with strict headers and no external content, and the API reference."""

import re

import pytest

from tests.config.test_moments import HTML_TIME
from tests.ledger.conftest import seal_reports

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


def page(client, query=""):
    response = client.get(f"/{query}")
    assert response.status_code == 200
    return response.content.decode()


def test_ledger_explorer_shows_the_path_from_an_anchored_hash_to_the_signed_root(client):
    seal_reports([f"report {number}" for number in range(10)])
    anchored = client.anchor("hello", kind="<b>bold</b>").json()
    text = page(client, f"?hash={anchored['hash'].upper()}")
    proof = client.get(f"/proof/{anchored['hash']}").json()
    assert "Anchored on" in text
    assert re.findall(r'data-sibling="([0-9a-f]{64})"', text) == proof["audit_path"]
    assert re.findall(r'data-parent="([0-9a-f]{64})"', text)[-1] == proof["root"]
    assert f"/proof/{anchored['hash']}.tlog-proof" in text
    assert "<b>bold" not in text
    assert text.count("<time ") == len(HTML_TIME.findall(text)) > 0


def test_ledger_explorer_shows_a_message_for_an_empty_log_and_an_absent_or_invalid_hash(client):
    assert "Nothing is anchored yet." in page(client)
    assert "Not anchored here" in page(client, "?hash=" + "ab" * 32)
    for bad_id in ("zz", "%00", "%3Cscript%3Ealert(1)%3C/script%3E", "a" * 5000):
        text = page(client, f"?hash={bad_id}")
        assert "That is not a SHA-256" in text
        assert "<script>alert" not in text


def test_ledger_explorer_pages_through_older_blocks(client):
    for number in range(12):
        seal_reports([f"report {number}"])
    for before, last in (("1", 1), ("2", 1), ("9", 8), ("99", 12), *((odd, 12) for odd in ("x", "-1", "0", "9" * 30))):
        rows = re.findall(r'<th scope="row"><a href="/\?block=(\d+)', page(client, f"?before={before}"))
        assert [int(number) for number in rows] == list(range(last, max(0, last - 8), -1)), before


def test_ledger_explorer_pages_through_the_entries_of_a_block(client):
    seal_reports(["before"])
    seal_reports([f"report {number}" for number in range(120)])
    for offset, first in (("", 1), ("50", 51), ("100", 101), ("119", 120), ("500", 120), ("x", 1)):
        text = page(client, f"?block=2&entries={offset}")
        shown = [int(index) for index in re.findall(r'<li value="(\d+)">', text)]
        assert shown == list(range(first, min(first + 50, 121)))
        assert ("later entries" in text, "earlier entries" in text) == (first + 50 < 121, first > 1)


def test_ledger_explorer_draws_its_chart_for_any_number_of_blocks(client):
    for number in range(61):
        seal_reports([f"report {number}"])
        if number in {0, 1, 58, 59, 60}:
            [points] = re.findall(r'<polyline class="line" points="([^"]+)"', page(client))
            heights = [int(point.split(",")[1]) for point in points.split()]
            assert heights == sorted(heights, reverse=True)
            assert heights[-1] == 4


def test_ledger_explorer_page_allows_no_external_content_or_inline_style(client):
    headers = client.get("/").headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    text = page(client)
    assert "style=" not in text
    assert not re.search(r"https?://|//[a-z]", text)
    assert not re.search(r"<script(?! src=)", text)


def test_ledger_explorer_shows_the_block_number_in_the_title_and_opens_blocks_by_number(client):
    seal_reports(["report"])
    text = page(client, "?block=1")
    assert "<title>Block 1 · Anchoring ledger</title>" in text
    assert "This log has no witnesses" in page(client)
    assert "A proof does not prove that the report is true" in page(client)
    for number in ("1", "99", "x", "-1", "9" * 30):
        assert ("Block hash" in page(client, f"?block={number}")) == (number == "1"), number
    assert re.search(r'<input id="block-number" name="block" type="number" min="1" max="1"', text)


def test_ledger_explorer_links_a_block_to_the_previous_and_next_block(client):
    for number in range(3):
        seal_reports([f"report {number}"])
    for number, expected in ((1, [2]), (2, [1, 3]), (3, [2])):
        links = re.findall(r'/\?block=(\d)#block">(?:Previous|Next) block', page(client, f"?block={number}"))
        assert [int(link) for link in links] == expected, number


@pytest.mark.django_db
@pytest.mark.urls("ledger.urls")
def test_ledger_reference_accepts_only_read_requests_and_links_to_the_explorer(client, settings):
    page = client.get("/docs")
    assert page.headers["Content-Security-Policy"] == settings.CONTENT_SECURITY_POLICY
    assert b'<a href="/">Explorer</a>' in page.content
    assert b'<a href="/docs">Every operation</a>' in client.get("/").content
    answer = client.post("/docs")
    assert (answer.status_code, answer.json()["code"]) == (405, "E4050")
    assert client.head("/docs").status_code == 200
