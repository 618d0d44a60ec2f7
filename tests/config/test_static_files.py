"""Test `collectstatic` in production."""

import os

from django.core.management import call_command


def collect():
    call_command("collectstatic", interactive=False, verbosity=0)


def test_collectstatic_replaces_a_newer_file_of_another_version(settings, tmp_path):
    source, settings.STATIC_ROOT = tmp_path / "source", tmp_path / "static"
    source.mkdir()
    settings.STATICFILES_DIRS, settings.STATICFILES_FINDERS = (
        [source], ["django.contrib.staticfiles.finders.FileSystemFinder"]
    )  # fmt: skip
    backend = {"BACKEND": "config.ops.static_files.CollectedFiles"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": backend}
    (source / "page.css").write_text("a {color: red}")
    collect()
    # The next version was committed before the first one was installed.
    (source / "page.css").write_text("a {color: blue}")
    os.utime(source / "page.css", (1_000_000_000, 1_000_000_000))
    collect()
    assert (settings.STATIC_ROOT / "page.css").read_text() == "a {color: blue}"
    assert {file.read_text() for file in settings.STATIC_ROOT.glob("page.*.css")} == {
        "a {color: red}", "a {color: blue}",
    }  # fmt: skip
