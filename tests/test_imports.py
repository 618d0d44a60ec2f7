"""Test that modules have no import cycle. import-linter checks the layers."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from tests.product import ROOT, sources

CONFIG_ROOT = {"__init__", "settings", "urls", "wsgi", "gunicorn", "env", "checks"}


def _imports(node: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield every imported name, and whether its last part may be a name in a module; imports for types are skipped."""
    if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
        for child in node.orelse:
            yield from _imports(child)
        return
    if isinstance(node, ast.Import):
        yield from ((alias.name, False) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((f"{node.module}.{alias.name}", True) for alias in node.names)
    for child in ast.iter_child_nodes(node):
        yield from _imports(child)


def graph_of(trees: Mapping[str, ast.AST]) -> dict[str, set[str]]:
    """Return the imports between these modules, including imports inside functions.

    An import of `a.b.c` runs the packages `a` and `a.b` too, which counts unless the importer lies in them itself.
    """
    graph = {}
    for importer, tree in trees.items():
        needed = set()
        for name, is_from in _imports(tree):
            module = name.rpartition(".")[0] if is_from and name not in trees else name
            while module:
                if module in trees and not f"{importer}.".startswith(f"{module}."):
                    needed.add(module)
                module = module.rpartition(".")[0]
        graph[importer] = needed
    return graph


def circle_in(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of an import cycle, in order; an empty list if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_product_files_have_no_import_cycle():
    graph = graph_of({name: tree for name, (_, tree) in sources().items()})
    assert len(graph) > 300
    assert sum(map(len, graph.values())) > 900
    assert circle_in(graph) == []


def test_import_cycle_check_finds_function_imports_and_ignores_type_imports():
    reader = "def read():\n    from app.b import write\n"
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from app.a import Reader\n"
    sound = {"app.a": ast.parse(reader), "app.b": ast.parse(typed)}
    assert circle_in(graph_of(sound)) == []
    circular = {"app.a": ast.parse(reader), "app.b": ast.parse("from app import a")}
    assert set(circle_in(graph_of(circular))) == {"app.a", "app.b"}


def test_config_root_contains_only_the_listed_modules():
    assert {path.stem for path in (ROOT / "config").glob("*.py")} == CONFIG_ROOT
