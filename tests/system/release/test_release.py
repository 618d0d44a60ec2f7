"""`make_release` creates five files that verify, and its archive, SBOM, and statement are reproducible."""

import io
import json
import subprocess
from hashlib import sha256

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from django.core.management import call_command

from ledger.releases.contents import CannotRelease, Names, Source, digests_of, listed, locked
from tests.processes import ROOT, run_python


def clone(folder, *, of=ROOT):
    """Clone this repository, or another clone; return the folder."""
    subprocess.run(["git", "clone", "--quiet", str(of), str(folder)], check=True)
    return folder


def make(folder, *arguments, **environment):
    """Run `make_release` in a clone; the last line of its output is JSON."""
    env = {"VAR_DIR": f"{folder}-var", **environment}
    return run_python(env, "manage.py", "make_release", "--json", *arguments, folder=folder)


@pytest.fixture(scope="session")
def release(made_once):
    """A clone with a release in `dist/`, the JSON of the command, and its standard error."""

    def build(place):
        place.mkdir()
        done = make(clone(place / "clone"))
        assert done.returncode == 0, done.stdout + done.stderr
        (place / "output.json").write_text(json.dumps([done.stdout.strip().rpartition("\n")[2], done.stderr]))

    place = made_once("release", build)
    answer, warning = json.loads((place / "output.json").read_text())
    return place / "clone", json.loads(answer), warning


def read(folder):
    """Return the files of a folder by name."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_release_files_can_be_verified_offline(release):
    root, result, warning = release
    names = Names(Source.of(root).version())
    assert read(root / "dist").keys() == {*names.summed, "SHA256SUMS"}
    assert "has no value for others" in warning
    assert result["ledger"] is None
    output, errors = io.StringIO(), io.StringIO()
    call_command(
        "verify", root / "dist" / names.archive, "--ledger-key", result["key"], "--json", stdout=output, stderr=errors
    )
    assert json.loads(output.getvalue())["verified"] is True
    proof, statement = (str(root / "dist" / name) for name in (names.proof, names.statement))
    call_command("verify", proof, "--report", statement, "--ledger-key", result["key"], stdout=output, stderr=errors)
    assert "verified: True" in output.getvalue()


def test_a_release_from_another_clone_has_identical_files(release, tmp_path):
    root, result, _warning = release
    source = Source.of(clone(tmp_path / "other", of=root))
    names = Names(source.version())
    files = {names.archive: source.archive(names), names.sbom: source.sbom()}
    files[names.statement] = source.statement(names, digests_of(files))
    original = read(root / "dist")
    assert files == {name: original[name] for name in files}
    assert result["sha256"] == sha256(files[names.archive]).hexdigest()
    assert result["commit"] == source.commit


def test_the_sbom_of_a_release_is_valid_and_lists_every_locked_package(release):
    root, *_ = release
    text = (root / "dist" / Names(Source.of(root).version()).sbom).read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    document = json.loads(text)
    packages = locked((root / "requirements.txt").read_text())
    assert len(packages) > 40
    assert listed(document) == packages
    assert {"serialNumber", "timestamp"} & {*document, *document["metadata"]} == set()
    assert str(ROOT) not in text
    assert document["metadata"]["component"]["name"] == "credit-platform"


def test_a_release_from_a_working_tree_with_uncommitted_changes_is_rejected(release, tmp_path):
    root = clone(tmp_path / "changed", of=release[0])
    (root / "README.md").write_text("Something else.")
    (root / "left").touch()
    with pytest.raises(CannotRelease, match=r"README\.md and 1 more"):
        Source.of(root)
    with pytest.raises(CannotRelease, match="git"):
        Source.of(tmp_path)


def test_a_release_with_an_unreachable_ledger_fails_and_writes_no_file(release, tmp_path):
    root, *_ = release
    done = make(root, "--sbom", "README.md", "--to", str(tmp_path), CHAIN_URL="http://127.0.0.1:9")
    assert done.returncode == 1
    assert "The ledger at http://127.0.0.1:9 does not answer (connect)." in done.stderr
    assert read(tmp_path) == {}
