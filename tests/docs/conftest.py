import pytest

from tests.documents import ROOT

BUILT = ROOT / "var" / "docs"


@pytest.fixture(scope="session")
def built():
    """Return the folder with the built documentation."""
    if not (BUILT / "index.html").exists():
        pytest.skip("needs the documentation: make docs")
    return BUILT
