"""`GET /claims`."""

import pytest

from tests.api import assert_error
from tests.factories import ClaimFactory

DOI = "10.1000/182"


def ids(response):
    assert response.status_code == 200, response.content
    return [claim["id"] for claim in response.json()]


def made(*claims):
    """Return the ids of claims as a list shows them: newest first."""
    return [str(claim.pk) for claim in reversed(claims)]


def test_without_filters_it_shows_the_callers_own_newest_first(api, user, stranger):
    own = [ClaimFactory(user=user, status=status) for status in ("draft", "approved", "revoked")]
    ClaimFactory(user=stranger)
    ClaimFactory(user=stranger, visibility="shared")
    assert ids(api.read("/claims")) == made(*own)
    assert ids(api.read(f"/claims?user_id={user.pk}")) == made(*own)


def test_an_entry_is_the_claim_as_its_own_address_shows_it(api, user):
    claim = ClaimFactory(user=user, evidence=["a"], notes="n")
    assert api.read("/claims").json() == [api.read(f"/claims/{claim.pk}").json()]


def test_filters_narrow_the_list_and_combine(api, user):
    one = ClaimFactory(user=user, status="approved", verification_level="evidence_provided")
    two = ClaimFactory(user=user, status="approved", publication_id="W1")
    three = ClaimFactory(user=user, verification_level="evidence_provided", publication_id="W1")
    assert ids(api.read("/claims?status=approved")) == made(one, two)
    assert ids(api.read("/claims?verification_level=evidence_provided")) == made(one, three)
    assert ids(api.read("/claims?status=approved&verification_level=evidence_provided")) == made(one)
    assert ids(api.read("/claims?publication_id=W1&status=approved")) == made(two)
    assert ids(api.read(f"/claims?publication_id=W1&user_id={user.pk}&verification_level=evidence_provided")) == made(
        three
    )
    assert ids(api.read("/claims?status=disputed")) == []


def test_a_publication_is_found_in_every_spelling(api, user):
    claims = [
        ClaimFactory(user=user, publication_id=spelling)
        for spelling in ("10.1000/ABC", "doi:10.1000/abc", "https://doi.org/10.1000%2Fabc")
    ]
    ClaimFactory(user=user, publication_id="10.1000/abcd")
    for asked in ("10.1000/aBc", "DOI:10.1000/abc", "https%3A%2F%2Fdx.doi.org%2F10.1000%252FABC"):
        assert ids(api.read(f"/claims?publication_id={asked}")) == made(*claims)
    ClaimFactory(user=user, publication_id="W123")
    assert len(ids(api.read("/claims?publication_id=W123"))) == 1
    assert ids(api.read("/claims?publication_id=w123")) == []


def test_with_a_publication_it_shows_what_others_share(api, user, stranger, stranger_api):
    own = ClaimFactory(user=user)
    private = ClaimFactory(user=stranger)
    conditional = ClaimFactory(user=stranger, visibility="conditional")
    shared = ClaimFactory(user=stranger, visibility="shared")
    ClaimFactory(user=stranger, visibility="shared", publication_id="10.1000/other")
    assert ids(api.read(f"/claims?publication_id={DOI}")) == made(own, shared)
    assert ids(stranger_api.read(f"/claims?publication_id={DOI}")) == made(private, conditional, shared)


def test_a_reviewer_also_sees_conditional_ones(reviewer_api, stranger):
    ClaimFactory(user=stranger)
    conditional = ClaimFactory(user=stranger, visibility="conditional")
    shared = ClaimFactory(user=stranger, visibility="shared")
    assert ids(reviewer_api.read(f"/claims?publication_id={DOI}")) == made(conditional, shared)
    assert ids(reviewer_api.read("/claims")) == []


def test_another_persons_claims_are_shown_only_for_a_publication(api, stranger):
    ClaimFactory(user=stranger)
    shared = ClaimFactory(user=stranger, visibility="shared")
    other = ClaimFactory(visibility="shared")
    assert_error(api.read(f"/claims?user_id={stranger.pk}"), 401, "E2004")
    assert ids(api.read(f"/claims?user_id={stranger.pk}&publication_id={DOI}")) == made(shared)
    assert ids(api.read(f"/claims?user_id={other.user_id}&publication_id={DOI}")) == made(other)


@pytest.mark.parametrize("user_id", ["0%s", "+%s", "%s.0", "nobody", "%%00", "99999999999999999999", "-1", "%%ff"])
def test_a_user_id_in_another_spelling_is_another_user(api, user, user_id):
    ClaimFactory(user=user, visibility="shared")
    asked = user_id % user.pk if "%s" in user_id else user_id % ()
    response = api.read(f"/claims?user_id={asked}")
    assert response.status_code in {400, 401}
    with_publication = api.read(f"/claims?user_id={asked}&publication_id={DOI}")
    assert with_publication.status_code == 400 or with_publication.json() == []


def test_pages_follow_each_other(api, user):
    claims = made(*[ClaimFactory(user=user) for _ in range(25)])
    assert ids(api.read("/claims")) == claims[:20]
    assert ids(api.read("/claims?limit=100")) == claims
    assert ids(api.read("/claims?limit=1&offset=24")) == claims[24:]
    assert ids(api.read("/claims?limit=7&offset=7")) == claims[7:14]
    assert ids(api.read("/claims?offset=25")) == []
    assert ids(api.read("/claims?offset=9223372036854775807")) == []
    assert ids(api.read(f"/claims?publication_id={DOI}&limit=3&offset=2")) == claims[2:5]


def test_a_page_takes_one_statement(api, user, no_rate_limits, django_assert_num_queries):
    for _ in range(3):
        ClaimFactory(user=user)
    queries = ["", "?status=draft", f"?publication_id={DOI}", f"?publication_id={DOI}&status=draft"]
    for query in queries:
        api.read(f"/claims{query}")  # whether the caller reviews is asked once, and remembered with the credential
    for query in queries:
        with django_assert_num_queries(1):
            assert len(ids(api.read(f"/claims{query}"))) == 3
