"""Who makes somebody a provider's member: its owner and a superuser, and nobody else."""

import pytest
from django.urls import reverse

from credit.models import ProviderMember
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import text_of
from tests.factories import ProviderFactory, UserFactory


@pytest.fixture
def provider(db):
    return ProviderFactory(id="501", owner=staff_of("Support", username="olga"))


def page_of(provider):
    return reverse("admin:credit_provider_change", args=[provider.pk])


def members_of(provider):
    found = ProviderMember.objects.filter(provider=provider).order_by("id")
    return list(found.values_list("user__username", flat=True))


def add(client, provider, person):
    """Send the page's form with one more member."""
    rows = "providermember_set"
    return client.post(
        page_of(provider),
        {
            f"{rows}-TOTAL_FORMS": "1", f"{rows}-INITIAL_FORMS": "0", f"{rows}-0-provider": provider.pk,
            f"{rows}-0-user": str(person.pk),
        },
    )  # fmt: skip


@pytest.mark.parametrize("group", ["Operations", "Support", "Reviewer"])
def test_no_group_makes_itself_a_member(provider, group):
    person = staff_of(group)
    client = backoffice_client(person)
    assert client.get(page_of(provider)).status_code == 200
    assert add(client, provider, person).status_code == 403
    assert members_of(provider) == ["olga"]


def test_not_even_with_every_permission_on_providers(provider):
    from django.contrib.auth.models import Permission

    person = staff_of("Operations")
    person.user_permissions.set(Permission.objects.filter(codename__contains="provider"))
    assert add(backoffice_client(person), provider, person).status_code == 403
    assert members_of(provider) == ["olga"]


def test_the_owner_and_a_superuser_add_members_and_the_owner_removes_them(provider, superusers_client):
    first, second = UserFactory(username="first"), UserFactory(username="second")
    olga = backoffice_client(provider.owner)
    assert add(olga, provider, first).status_code == 302
    member = ProviderMember.objects.get(user=first)
    rows = "providermember_set"
    gone = {
        f"{rows}-TOTAL_FORMS": "1", f"{rows}-INITIAL_FORMS": "1", f"{rows}-0-id": str(member.pk),
        f"{rows}-0-provider": provider.pk, f"{rows}-0-user": str(first.pk), f"{rows}-0-DELETE": "on",
    }  # fmt: skip
    assert olga.post(page_of(provider), gone).status_code == 302
    assert members_of(provider) == ["olga"]
    assert add(superusers_client, provider, second).status_code == 302
    assert members_of(provider) == ["olga", "second"]


def test_an_owner_decides_about_their_own_provider_only(provider):
    other = ProviderFactory(id="502")
    assert add(backoffice_client(provider.owner), other, provider.owner).status_code == 403
    assert members_of(other) == [other.owner.username]


def test_viewers_of_a_provider_see_its_members(provider, operations_client, reviewers_client):
    ProviderMember.objects.create(provider=provider, user=UserFactory(username="member-of-501"))
    for client in (operations_client, reviewers_client):
        assert "member-of-501" in text_of(client.get(page_of(provider)))
