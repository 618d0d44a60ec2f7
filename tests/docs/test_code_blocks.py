"""Test that every code block in README.md and docs/ is run by a test, or states why not."""

import re
from pathlib import Path

from tests.documents import README, ROOT, blocks, runnable

PAGES = (README, *sorted((ROOT / "docs").rglob("*.md")))
HERE = "tests/system/docs/test_blocks_run.py"
WALK = "tests/system/walk/__main__.py"
# Each page has the file that runs its blocks. A runner of only some blocks contains their names.
RUNNERS = {
    "README.md": HERE, "docs/quickstart.md": HERE, "docs/tutorial.md": WALK,
    "docs/guides/accounts.md": HERE, "docs/guides/applications.md": HERE,
    "docs/guides/authentication.md": HERE, "docs/guides/claims.md": HERE,
    "docs/guides/commerce.md": "tests/system/credit/commerce/test_guide.py",
    "docs/guides/identity-and-bank-data.md": HERE, "docs/guides/ledger-and-proofs.md": HERE,
    "docs/guides/oauth.md": HERE, "docs/guides/payments.md": HERE, "docs/guides/quotes.md": HERE,
    "docs/guides/retry-safely.md": "tests/system/docs/test_retry_samples.py",
    "docs/guides/sandbox.md": HERE, "docs/guides/scores.md": WALK, "docs/guides/staging.md": HERE,
    "docs/guides/verify-webhooks.md": "tests/system/docs/test_webhook_samples.py",
    "docs/develop/vendors.md": "tests/docs/test_vendors.py",
    "docs/guides/wallets.md": HERE, "docs/guides/webhooks.md": HERE,
    "docs/operate/monitoring.md": HERE,
}  # fmt: skip
RUN_MIN = 40


def name_of(file):
    return str(file.relative_to(ROOT))


def test_every_page_with_code_blocks_has_a_test_that_executes_the_blocks():
    assert {name_of(file) for file in PAGES if runnable(file.read_text())} == {*RUNNERS}
    assert [page for page, file in RUNNERS.items() if page.removeprefix("docs/") not in (ROOT / file).read_text()] == []


def test_most_code_blocks_of_the_docs_are_executed():
    texts = [file.read_text() for file in PAGES]
    run = sum(len(runnable(text)) for text in texts)
    left_out = [block for text in texts for block in blocks(text) if block.not_run]
    assert run >= RUN_MIN
    assert len(left_out) * 2 < run
    assert all(len(block.not_run.split()) >= 5 for block in left_out)


def test_every_not_run_marker_is_directly_above_a_code_block():
    for file in PAGES:
        text = file.read_text()
        marks = re.findall("^<!-- not run", text, flags=re.MULTILINE)
        assert len(marks) == sum(bool(block.not_run) for block in blocks(text)), file
        assert text.count("```") == 2 * len(blocks(text)), file


PASTED = [
    file
    for file in PAGES
    if file.parent.name in {ROOT.name, "guides", "backoffice"} or file.stem in {"quickstart", "tutorial"}
]
COMMAND = re.compile(r"^(?:curl|make|python3|\.venv/bin/\w+) ", flags=re.MULTILINE)
# A shell does not interpret a heredoc, a string, arithmetic, or an escaped character.
QUOTED = re.compile(r"<<'(\w+)'.*?^\1$|'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\(\(.*?\)\)|\\.", flags=re.DOTALL | re.MULTILINE)


def shell_of(text):
    """Return the shell blocks of a page, as a reader pastes them one after another."""
    return "".join(block.code for block in blocks(text) if block.language == "sh")


HELPERS = "|".join(
    sorted(set(re.findall(r"^(\w+)\(\) ", "".join(map(shell_of, map(Path.read_text, PASTED))), re.MULTILINE)))
)


def names_used_before_they_are_set(script):
    """Return the variables and helper functions that a script uses before it sets them."""
    known, missing = {"RANDOM"}, []
    for line in script.splitlines():
        known.update(re.findall(r"(?:^|[\s({])(\w+)=", line), re.findall(r"\bfor (\w+) in\b", line))
        known.update(re.findall(r"^(\w+)\(\) ", line))
        used = re.findall(r"\$\{?([A-Za-z_]\w*)", line) + re.findall(rf"(?:^ *|\$\(|\| )({HELPERS})\b(?!\()", line)
        missing += [name for name in used if name not in known]
    return missing


def faults_of_a_paste(script):
    """Return the kinds of text that an interactive bash or zsh would interpret or reject."""
    outside = QUOTED.sub("x", script)
    faults = {
        "a comment, which zsh takes for arguments": re.search(r"(?:^|\s)#", outside),
        "a pattern, which zsh matches with files": re.search(r"[?*]|\[\S", outside),
        "an event of the history": re.search(r"!(?![=\s(])", script),
    }
    return [fault for fault, match in faults.items() if match]


def test_code_block_check_finds_unset_variables_and_commands_that_cannot_be_pasted():
    assert names_used_before_they_are_set("curl $BASE\nBASE=$(demo base_url)\n") == ["BASE", "demo"]
    assert names_used_before_they_are_set("demo() { cat; }\nBASE=$(demo x)\ncurl ${BASE%/v1}\n") == []
    for line in ["curl a  # b\n", "curl a/b?c=1\n", 'echo "Hello!you"\n', "rm *.json\n"]:
        assert faults_of_a_paste("curl 'a?b' \"c*\" && echo $((2 * 3)) # \n".replace(" # ", "")) == [], line
        assert len(faults_of_a_paste(line)) == 1, line


def test_shell_blocks_can_be_pasted_into_bash_and_zsh():
    for file in PASTED:
        script = shell_of(file.read_text())
        assert names_used_before_they_are_set(script) == [], file
        assert faults_of_a_paste(script) == [], file


def test_docs_contain_commands_only_in_shell_blocks():
    for text in map(Path.read_text, PAGES):
        assert [block.code for block in blocks(text) if block.language != "sh" and COMMAND.search(block.code)] == []
        assert re.findall(r"^ {4}curl .*", text, flags=re.MULTILINE) == []
