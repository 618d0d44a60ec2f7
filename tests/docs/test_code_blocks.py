"""Every block of code in README.md and docs/ is run by something, or says above it why not."""

import re

import pytest

from tests.documents import README, ROOT, blocks, runnable

PAGES = (README, *sorted((ROOT / "docs").rglob("*.md")))
HERE = "tests/system/docs/test_blocks_run.py"
WALK = "tests/system/walk/__main__.py"
# Which file runs a page's blocks. Those that run few of them name each; the others run whatever is there.
RUNNERS = {
    "README.md": HERE, "docs/tutorial.md": WALK, "docs/guides/accounts.md": HERE, "docs/guides/applications.md": HERE,
    "docs/guides/authentication.md": HERE, "docs/guides/commerce.md": "tests/system/credit/commerce/test_guide.py",
    "docs/guides/identity-and-bank-data.md": HERE, "docs/guides/ledger-and-proofs.md": HERE,
    "docs/guides/oauth.md": HERE, "docs/guides/payments.md": HERE, "docs/guides/quotes.md": HERE,
    "docs/guides/sandbox.md": HERE, "docs/guides/scores.md": WALK, "docs/guides/webhooks.md": HERE,
    "docs/operate/monitoring.md": HERE,
}  # fmt: skip
RUN_MIN = 40


def name_of(file):
    return str(file.relative_to(ROOT))


@pytest.mark.parametrize("file", PAGES, ids=name_of)
def test_every_block_is_run_or_says_why_not(file):
    if not runnable(file.read_text()):
        assert name_of(file) not in RUNNERS
        return
    runner = (ROOT / RUNNERS[name_of(file)]).read_text()
    assert name_of(file).removeprefix("docs/") in runner


def test_most_blocks_are_run():
    texts = [file.read_text() for file in PAGES]
    run = sum(len(runnable(text)) for text in texts)
    left_out = [block for text in texts for block in blocks(text) if block.not_run]
    assert run >= RUN_MIN
    assert len(left_out) * 3 < run
    assert all(len(block.not_run.split()) >= 5 for block in left_out)


@pytest.mark.parametrize("file", PAGES, ids=name_of)
def test_every_mark_stands_right_above_a_block(file):
    text = file.read_text()
    marks = re.findall("^<!-- not run", text, flags=re.MULTILINE)
    assert len(marks) == sum(bool(block.not_run) for block in blocks(text))
    assert text.count("```") == 2 * len(blocks(text))
