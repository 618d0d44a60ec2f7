"""Test that README and docs mention every setting and command for operators, and nothing that does not exist."""

import ast
import re
from importlib import import_module

from django.core.management import get_commands

from config.core.errors import ApiError
from config.ops.metrics import Scrape
from config.ops.supervisor import PORTS
from tests.documents import EVERYTHING, PAGES, README, ROOT, anchors, links, page

README_LINES_MAX = 150
OURS = {"config", "identity", "credit", "claims", "payments", "staging", "ledger"}
# Only the supervisor of `make run` reads these variables.
OF_MAKE_RUN = {"HOST", "PORT", "LEDGER_PORT"}
READ = re.compile(r'(?:environment\.\w+|(?<![\w.])(?:text|listing|base_address)|os\.environ\.get)\(\s*"([A-Z][A-Z_]+)"')


def variables():
    """Return every variable that the program reads from its environment."""
    files = [*(ROOT / "config").rglob("*.py"), *(ROOT / "ledger").rglob("*.py")]
    return {name for file in files for name in READ.findall(file.read_text())} | set(PORTS)


def commands():
    """Return every management command of the platform, and `migrate` of Django."""
    apps = {name: str(getattr(app, "name", app)).partition(".")[0] for name, app in get_commands().items()}
    return {name for name, app in apps.items() if app in OURS}


def documented_variables():
    """Return the variables in the first column of the settings table."""
    rows = re.findall(r"^\| (`[A-Z].*)$", page("operate/settings.md"), flags=re.MULTILINE)
    first = {name for row in rows for name in re.findall(r"`([A-Z][A-Z_]+)`", row.partition(" | ")[0])}
    assert len(first) > 40
    return first


def test_documented_environment_variables_equal_the_variables_that_the_code_reads():
    settings = page("operate/settings.md")
    missing = {name for name in variables() if f"`{name}`" not in (EVERYTHING if name in OF_MAKE_RUN else settings)}
    assert missing == set()
    assert documented_variables() <= variables()


def test_every_prometheus_metric_is_documented(db, tmp_path):
    text = Scrape(tmp_path).text().decode()
    families = {line.split(" ")[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert len(families) >= 20
    monitoring = page("operate/monitoring.md")
    assert not {name for name in families if f"`{name.removesuffix('_oldest_seconds')}" not in monitoring}


def test_every_management_command_is_documented_and_every_called_command_exists():
    assert len(commands()) >= 20
    assert not {name for name in commands() if f"`{name}" not in page("operate/commands.md")}
    called = set(re.findall(r"manage\.py ([a-z_]+)", EVERYTHING))
    assert len(called) >= 10
    assert called <= set(get_commands())


def test_every_error_code_is_documented():
    for urls in ("config.urls", "ledger.urls"):
        import_module(urls)  # Loading the URLs loads every module that raises errors.
    guide = page("reference/errors.md")
    ours = {code: error for code, error in ApiError.registry.items() if error.__module__.partition(".")[0] in OURS}
    assert len(ours) >= 40
    rows = dict(re.findall(r"^\| `(E\d{4})` \| (\d{3}) ", guide, flags=re.MULTILINE))
    assert rows == {code: str(error.status) for code, error in ours.items()}


def test_readme_does_not_exceed_its_length_limit():
    assert len(README.read_text().splitlines()) <= README_LINES_MAX


def test_every_link_of_the_docs_has_a_target_and_every_page_is_linked():
    for file, link in ((source, link) for source in PAGES for link in links(source.read_text())):
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        assert target.exists(), (file, link)
        assert target.is_relative_to(ROOT), (file, link)
        if anchor:
            assert anchor in anchors(target.read_text()), (file, link)
    linked = {(file.parent / link.partition("#")[0]).resolve() for file in PAGES for link in links(file.read_text())}
    assert set(PAGES) - {README} <= linked


def test_every_file_named_in_the_docs_exists():
    folders = "|".join([*sorted(OURS), "tests", "docs", r"\.ci"])
    named = set(re.findall(rf"`((?:{folders})/[\w./-]*)`", EVERYTHING))
    assert len(named) >= 40
    assert not {path for path in named if not (ROOT / path).exists()}


def test_every_package_is_in_the_documented_folder_table():
    rooms = {
        f"`{file.parent.relative_to(ROOT)}/`"
        for app in sorted(OURS)
        for file in (ROOT / app).glob("*/__init__.py")
        if file.parent.name not in {"management", "migrations", "templatetags"}
    }
    assert len(rooms) >= 25
    assert not {room for room in rooms if room not in README.read_text()}


def defined(file):
    """Return the functions and methods of a file, methods with their class."""
    results = set()
    for node in ast.parse((ROOT / file).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            results.add(node.name)
        if isinstance(node, ast.ClassDef):
            results |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return results


def test_every_function_listed_on_the_request_path_page_exists():
    steps = re.findall(r"^\| `([\w/]+\.py)` \| `([\w.]+)` \|", page("develop/request-path.md"), flags=re.MULTILINE)
    assert len(steps) >= 50
    assert not [(file, name) for file, name in steps if name not in defined(file)]
