"""Test the differences between two documents in the back office."""

import pytest
from django.contrib.auth.models import Group
from hypothesis import given
from hypothesis import strategies as st

from config.core.json_text import canonical_json
from credit.core.differences import CHANGES_MAX, differences
from credit.models import ApplicationRevision
from tests.credit.applicants import PERSON
from tests.factories import ApplicationFactory, UserFactory
from tests.properties import examples

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def test_differences_of_two_json_documents_list_every_changed_field():
    for before, after, expected in (
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2}, {"a": {"before": 1, "after": 2}}),
        ({"a": 1}, {"a": True}, {"a": {"before": 1, "after": True}}),
        ({"a": 1}, {}, {"a": {"before": 1}}),
        ({}, {"a": None}, {"a": {"after": None}}),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3, 4]}}, {"a.b[1]": {"before": 2, "after": 3}, "a.b[2]": {"after": 4}}),
        (None, {"a": 1}, {"(all)": {"before": None, "after": {"a": 1}}}),
        ({"a": "x" * 300}, {"a": ""}, {"a": {"before": "x" * 200 + "…", "after": ""}}),
    ):
        assert differences(before, after) == expected
    long_list = differences({}, {str(number): number for number in range(500)})
    assert len(long_list) == CHANGES_MAX + 1
    assert long_list["…"]


@given(JSON, JSON)
@examples(100)
def test_identical_json_documents_have_no_differences(before, after):
    assert differences(before, before) == {}
    assert (differences(before, after) == {}) == (canonical_json(before) == canonical_json(after))


@pytest.mark.parametrize(("group", "is_seen"), [("Reviewer", True), ("Support", False)])
def test_back_office_shows_revision_differences_only_to_staff_with_data_access(api, user, client, group, is_seen):
    application = ApplicationFactory(consumer=user, status="submitted", application_data={"purpose": "quartz"})
    api.replace(f"/applications/{application.pk}", {"updated_by": "x", "application_data": {"purpose": "zircon"}})
    member = UserFactory(is_staff=True)
    member.groups.add(Group.objects.get(name=group))
    client.force_login(member, backend="django.contrib.auth.backends.ModelBackend")
    page = client.get(f"/admin/credit/application/{application.pk}/change/").content.decode()
    assert "Data changed" in page
    assert ("quartz" in page) == is_seen
    revision = ApplicationRevision.objects.get()
    assert revision.changes == {"purpose": {"before": "quartz", "after": "zircon"}}
    api.replace(f"/applications/{application.pk}", {"updated_by": "x", "applicants": [PERSON]})
    page = client.get(f"/admin/credit/application/{application.pk}/change/").content.decode()
    assert ("<td>Applicant 1: legal name</td><td>changed</td><td></td>" in page) == is_seen
    assert "<td>Applicant 1: address, city</td>" in page or not is_seen
    assert "quartz" not in client.get(f"/admin/credit/applicationrevision/{revision.pk}/change/").content.decode()
