"""Test that all spellings of a DOI name have one key."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from claims.doi import KEY_MAX_LENGTH, fault_of, normalize_doi, publication_key
from tests.api import assert_error
from tests.factories import ClaimFactory

SPELLINGS = {
    "10.1000/abc(182)<x>": (
        "10.1000/abc(182)<x>", "10.1000/ABC(182)<X>", " 10.1000/abc(182)<x> ", "doi:10.1000/abc(182)<x>",
        "DOI:10.1000/ABC(182)<x>", "doi: 10.1000/abc(182)<x>", "info:doi/10.1000/abc(182)<x>",
        "urn:doi:10.1000/abc(182)<x>", "https://doi.org/10.1000/abc(182)<x>", "HTTPS://DOI.ORG/10.1000/ABC(182)<X>",
        "http://dx.doi.org/10.1000/abc(182)<x>", "https://www.doi.org/10.1000/abc(182)<x>",
        "doi.org/10.1000/abc(182)<x>", "//doi.org/10.1000/abc(182)<x>", "https://doi.org/10.1000%2FABC%28182%29%3cx%3E",
        "https://doi.org/10.1000/abc(182)%3Cx%3E?noredirect#top", "doi:10.1000%2fabc(182)<x>",
    ),
    "10.1000.10/123": ("10.1000.10/123",),
    "10.1002/(sici)1097-4571(199806)49:8<693::aid-asi4>3.0.co;2-o": (
        "10.1002/(SICI)1097-4571(199806)49:8<693::AID-ASI4>3.0.CO;2-O",
    ),
    "10.1000/a%25": ("https://doi.org/10.1000/a%2525",),
    "10.1000/a?b#c": ("10.1000/a?b#c", "https://doi.org/10.1000/a%3Fb%23c"),
    "10.1000/ÄÖ": ("10.1000/ÄÖ",),
    "10.1000/Ä": ("https://doi.org/10.1000/%C3%84",),
}  # fmt: skip


def test_doi_normalization_folds_only_ascii_case_and_decodes_percent_escapes_once():
    for name, spellings in SPELLINGS.items():
        for spelling in spellings:
            assert normalize_doi(spelling) == publication_key(spelling) == name, spelling


def test_publication_key_of_an_id_that_is_not_a_doi_is_the_unchanged_id():
    for identifier in (
        "W2741809807", "w2741809807", "0000-0002-1825-0097", "10.1000", "10.1000/", "10./x",
        "11.1000/182", "x10.1000/182", "10.1000/a b", "https://doi.org/", "https://doi.org.evil.example/10.1000/1",
        "https://evil.example/doi.org/10.1000/1", "https://doi.org/10.1000/%00", "https://doi.org/10.1000/%0a",
        "https://doi.org/10.1000/%ff", "10.\uff11000/182", "",
    ):  # fmt: skip
        assert (normalize_doi(identifier), publication_key(identifier)) == (None, identifier)


ONE_PUBLICATION = {
    "10.1000/182": (
        "DOI 10.1000/182", "10.1000/182.", "https://doi.org/doi:10.1000/182", "doi:https://doi.org/10.1000/182",
        "<https://doi.org/10.1000/182>", "(10.1000/182)", "10.1000/182).", "10.1000/\n182", "10.1000/182\u200b",
        "\ufeff10.1000/182", "\u201c10.1000/182\u201d", "https://hdl.handle.net/10.1000/182", "DOI=10.1000/182",
        "doi : 10.1000/182", "https://doi.org//10.1000/182", "10.1000/182;", "10.1000/1\u00ad82",
        "\u00a010.1000/182\r\n", "DOI\u00a010.1000/182", "doi:\u202f10.1000/182",
        "https://doi.org/10.1000/182%E2%80%8B", "DOI: http://dx.doi.org/10.1000/182,", "[doi:10.1000/182]",
        "10.1000/182 [doi]",
        "\u206610.1000/182\u2069", "10.1000/182\u2026", "https://doi.org/10.1000/182/", "DOI\uff1a10.1000/182",
        "\u00ab10.1000/182\u00bb", "\u201e10.1000/182\u201c", "`10.1000/182`", "10.1000/182\u3002",
    ),
    "10.1007/978-3-642-28108-2_19": (
        "10.1007/978\u20103\u2010642\u201028108\u20102_19", "doi:10.1007/978\u20113\u2011642\u201128108\u20112_19",
        "10.1007/978-3-642-28108-2\\_19",
    ),
    "10.1002/(sici)1097-4571(199806)49:8<693::aid-asi4>3.0.co;2-o": (
        "10.1002/(SICI)1097-4571(199806)49:8&lt;693::AID-ASI4&gt;3.0.CO;2-O",
    ),
    "10.1000/\u00e9": ("10.1000/e\u0301", "https://doi.org/10.1000/e%CC%81", "https://doi.org/10.1000/%C3%A9"),
    "10.48550/arxiv.2101.00001": (
        "arXiv:2101.00001", "arXiv:2101.00001v2", "arxiv: 2101.00001v13", "https://arxiv.org/abs/2101.00001",
        "https://arxiv.org/pdf/2101.00001v3.pdf", "http://www.arxiv.org/abs/2101.00001v1", "arXiv:2101.00001v1 [cs.CL]",
        "10.48550/arXiv.2101.00001", "https://doi.org/10.48550/arXiv.2101.00001v2", "arXiv:2101.00001.",
        "https://export.arxiv.org/abs/2101.00001?context=math", "arXiv:\u00a02101.00001", "https://arxiv.org/html/2101.00001v2#S1",
        "2101.00001", "2101.00001v2", "2101.00001v2.", "arXiv:2101.00001v2 [hep-th] 4 Jan 2021",
        "oai:arXiv.org:2101.00001", "arXiv 2101.00001v2", "(arXiv:2101.00001)", "[2101.00001]",
        "arXiv preprint arXiv:2101.00001",
    ),
    "10.48550/arxiv.hep-th/9901001": ("hep-th/9901001", "hep-th/9901001v3", "https://arxiv.org/abs/hep-th/9901001"),
    "10.48550/arxiv.math/0309136": (
        "math.GT/0309136", "arXiv:math.GT/0309136v1", "arXiv:math/0309136", "arxiv.org/abs/math/0309136v2",
    ),
    "isbn:9783161484100": (
        "ISBN 978-3-16-148410-0", "9783161484100", "978 3 16 148410 0", "ISBN-10: 3-16-148410-X", "isbn 316148410x",
        "urn:isbn:9783161484100", "ISBN-13: 978-3-16-148410-0", "ISBN13 9783161484100", "978-3161484100",
        "978\u20103\u201016\u2010148410\u20100", "978\u20133\u201316\u2013148410\u20130", "3-16-148410-X",
        "3 16 148410 X", "316148410X", "ISBN 978-3-16-148410-0 (pbk.)", "9783161484100.", "(ISBN 3-16-148410-X)",
        "e-ISBN: 978-3-16-148410-0", "isbn=9783161484100",
        "\uff19\uff17\uff18\uff13\uff11\uff16\uff11\uff14\uff18\uff14\uff11\uff10\uff10",
    ),
    "issn:2434561X": (
        "ISSN 2434-561X", "2434-561x", "eISSN: 2434561X", "urn:issn:2434-561X", "ISSN-L 2434-561X",
        "(ISSN 2434\u2013561X)",
    ),
    "pmid:12345678": (
        "PMID:12345678", "pmid 12345678", "PMID: 12345678.", "https://pubmed.ncbi.nlm.nih.gov/12345678/",
        "https://www.ncbi.nlm.nih.gov/pubmed/12345678", "pubmed.ncbi.nlm.nih.gov/12345678?dopt=Abstract",
    ),
    "PMC1234567": (
        "pmc1234567", "PMCID: PMC1234567", "https://www.ncbi.nlm.nih.gov/pmc/articles/PMC1234567/",
        "https://pmc.ncbi.nlm.nih.gov/articles/PMC1234567", "PMC1234567\u200b",
    ),
    "W2741809807": (
        "https://openalex.org/W2741809807", "https://api.openalex.org/works/W2741809807",
        "openalex:W2741809807", "openalex.org/works/W2741809807#cited",
    ),
}  # fmt: skip


def test_all_spellings_of_a_publication_id_have_the_same_key():
    for key, spellings in ONE_PUBLICATION.items():
        assert publication_key(key) == key
        for spelling in spellings:
            assert (publication_key(spelling), fault_of(spelling)) == (key, ""), spelling


def test_claim_with_an_invalid_publication_id_returns_400(api, user):
    for identifier in (
        "ISBN: 978-3-16-148410-1", "9783161484101", "978-0-306-40615-8", "ISBN 0-306-40615-3", "isbn:3161484101",
        "urn:isbn:9790000000000", "979-10-90636-07-2", "ISBN-10 0-8044-2957-0", "978 1 86197 271 3",
        "ISBN13: 9781402894627", "0306406153", "3-16-148410-1", "030640615X", "1234567890",
        "ISSN 2434-5611", "urn:issn:0378-5954",
        "\u200b", " ", "\u00ad\u200e", "\ufeff",
    ):  # fmt: skip
        body = {"user_id": str(user.pk), "publication_id": identifier, "claim_type": "author"}
        refusal = assert_error(api.send("/claims", body), 400, "E1001")
        assert refusal["details"][0]["field"] == "publication_id", identifier


def test_publication_key_of_an_unrecognized_id_is_the_unchanged_id():
    for identifier in ("W2741809807", "978316148410", "2113.00001", "hep-th/9913001", "12345678", "97", "0378-5954"):
        assert (publication_key(identifier), fault_of(identifier)) == (identifier, "")
    assert len(publication_key("\u0958" * 512)) <= KEY_MAX_LENGTH


@pytest.mark.django_db
def test_migration_recomputes_publication_keys_of_claims(user):
    claim = ClaimFactory(user=user, publication_id="2101.00001v2", publication_key="2101.00001v2")
    migration = import_module("claims.migrations.0005_dashes_and_issns")
    migration.renew_keys(apps, SimpleNamespace(connection=connection))
    claim.refresh_from_db()
    assert claim.publication_key == "10.48550/arxiv.2101.00001"
