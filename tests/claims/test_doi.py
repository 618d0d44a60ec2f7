"""DOI names in every spelling."""

import pytest

from claims.doi import normalise_doi, publication_key

SAME = "10.1000/abc(182)<x>"


@pytest.mark.parametrize(
    "spelling",
    [
        "10.1000/abc(182)<x>", "10.1000/ABC(182)<X>", " 10.1000/abc(182)<x> ", "doi:10.1000/abc(182)<x>",
        "DOI:10.1000/ABC(182)<x>", "doi: 10.1000/abc(182)<x>", "info:doi/10.1000/abc(182)<x>",
        "urn:doi:10.1000/abc(182)<x>", "https://doi.org/10.1000/abc(182)<x>", "HTTPS://DOI.ORG/10.1000/ABC(182)<X>",
        "http://dx.doi.org/10.1000/abc(182)<x>", "https://www.doi.org/10.1000/abc(182)<x>",
        "doi.org/10.1000/abc(182)<x>", "//doi.org/10.1000/abc(182)<x>", "https://doi.org/10.1000%2FABC%28182%29%3cx%3E",
        "https://doi.org/10.1000/abc(182)%3Cx%3E?noredirect#top", "doi:10.1000%2fabc(182)<x>",
    ],
)  # fmt: skip
def test_all_spellings_of_a_doi_name_have_one_key(spelling):
    assert normalise_doi(spelling) == SAME
    assert publication_key(spelling) == SAME


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("10.1000.10/123", "10.1000.10/123"),
        ("10.1002/(SICI)1097-4571(199806)49:8<693::AID-ASI4>3.0.CO;2-O",
         "10.1002/(sici)1097-4571(199806)49:8<693::aid-asi4>3.0.co;2-o"),
        ("https://doi.org/10.1000/a%2525", "10.1000/a%25"),
        ("10.1000/a?b#c", "10.1000/a?b#c"),
        ("https://doi.org/10.1000/a%3Fb%23c", "10.1000/a?b#c"),
        ("10.1000/ÄÖ", "10.1000/ÄÖ"),
        ("https://doi.org/10.1000/%C3%84", "10.1000/Ä"),
    ],
)  # fmt: skip
def test_only_ascii_letters_are_folded_and_only_one_layer_of_escapes_is_read(spelling, name):
    assert normalise_doi(spelling) == name


@pytest.mark.parametrize(
    "identifier",
    [
        "W2741809807", "0000-0002-1825-0097", "https://openalex.org/W2741809807", "10.1000", "10.1000/", "10./x",
        "11.1000/182", "x10.1000/182", "10.1000/a b", "https://doi.org/", "https://doi.org.evil.example/10.1000/1",
        "https://evil.example/doi.org/10.1000/1", "https://doi.org/10.1000/%00", "https://doi.org/10.1000/%0a",
        "https://doi.org/10.1000/%ff", "10.\uff11000/182", "",
    ],
)  # fmt: skip
def test_anything_else_is_its_own_key(identifier):
    assert normalise_doi(identifier) is None
    assert publication_key(identifier) == identifier


def test_normalising_twice_is_normalising_once():
    for spelling in ("https://doi.org/10.1000/ABC", "doi:10.1/x", "10.5/Y%41"):
        name = normalise_doi(spelling)
        assert name is not None
        assert normalise_doi(name) == name
