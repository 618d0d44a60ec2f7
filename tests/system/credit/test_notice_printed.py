"""The PDF of a notice, as weasyprint prints it."""

import importlib
import re
import shutil
import subprocess
from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone

from tests.api import client_of
from tests.credit.notices.test_table import REPORT, SCORE
from tests.credit.notices.world import WHOLE, World

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _tools():
    try:
        importlib.import_module("weasyprint")
    except (ImportError, OSError) as error:
        pytest.skip(f"needs weasyprint: {error}")
    if shutil.which("pdftotext") is None:
        pytest.skip("needs pdftotext of poppler-utils")


def words_of(text):
    return re.findall(r"\w+", unescape(text))


@pytest.mark.parametrize("language", ["en", "es"])
def test_notice_pdf_has_the_text_of_the_notice_page(settings, tmp_path, language):
    settings.REVIEW_POLICY, settings.REPORTS, settings.PROVIDERS = "reviewed", "off", "open"
    world = World(person={**WHOLE, "language": language}, start=timezone.now() - timedelta(days=10))
    world.offer.provider.created_at = world.start - timedelta(days=1)
    world.offer.provider.save()
    world.submit(0)
    world.reject(5, consumer_report=REPORT | SCORE)
    world.issue(6)
    world.consent(6)
    path = f"/applications/{world.pk}/notices/{world.notice.pk}"
    answer = client_of(world.consumer.user).read(path, accept="application/pdf")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/pdf")
    assert world.notice.deliveries.get().channel == "portal"
    file = tmp_path / f"notice-{language}.pdf"
    file.write_bytes(answer.content)
    printed = subprocess.run(["pdftotext", "-raw", str(file), "-"], capture_output=True, text=True, check=True).stdout
    page = world.notice.html
    main_text = page[page.index("<main>") : page.index("</main>")]
    assert words_of(printed) == words_of(re.sub(r"<[^>]+>", " ", main_text))
