"""Test which callers can read the facts and reports of an application."""

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from identity.access.scopes import SCOPES
from tests.api import ApiClient, client_of
from tests.credit.scoring.making import join
from tests.credit.scoring.test_reports import ask, under_review
from tests.credit.support import app_of, key_of, make_reviewer
from tests.factories import ProviderFactory, UserFactory

pytestmark = pytest.mark.django_db

# Each row begins with the HTTP statuses of five requests: the facts, the facts of applicant 2, the list of reports, the
# report of applicant 1, and the report of applicant 2. The other values are the number of reports, and whether the
# reports contain raw data.
NOTHING, FORBIDDEN = (404,) * 5, (403,) * 5
ROWS = {
    "anonymous": ((401,) * 5, 0, False), "stranger": (NOTHING, 0, False), "support": (NOTHING, 0, False),
    "operations": (NOTHING, 0, False), "another lender's owner": (NOTHING, 0, False),
    "another lender's reviewer": (NOTHING, 0, False), "applicant": ((200, 403, 200, 200, 404), 1, False),
    "applicant's app": (FORBIDDEN, 0, False), "applicant's key": (FORBIDDEN, 0, False),
    "reviewer's app": (FORBIDDEN, 0, False), "reader": ((200,) * 5, 2, False),
    "lender's reviewer": ((200,) * 5, 2, True),
    "owner": ((200,) * 5, 2, True), "reviewer": ((200,) * 5, 2, True),
}  # fmt: skip


@pytest.fixture
def application(user):
    return under_review(user, "Thickfile", "Thinfile", created_at=timezone.now())


@pytest.fixture
def callers(user, application):
    lender = ProviderFactory(pk="700", created_at=application.created_at)
    other, rita = ProviderFactory(pk="701"), make_reviewer(username="rita")
    scopes = [scope for scope in SCOPES if scope.partition(":")[0] in {"applications", "bankdata", "identity", "score"}]

    def member(provider, role):
        return client_of(join(provider, role=role))

    def staff(name):
        person = UserFactory()
        person.groups.add(Group.objects.get(name=name))
        return client_of(person)

    return {
        "anonymous": ApiClient(), "stranger": client_of(UserFactory()), "support": staff("Support"),
        "operations": staff("Operations"), "another lender's owner": client_of(other.owner),
        "another lender's reviewer": member(other, "reviewer"), "applicant": client_of(user),
        "applicant's app": app_of(user, *scopes), "applicant's key": key_of(user, *scopes),
        "reviewer's app": app_of(rita, *scopes), "reader": member(lender, "reader"),
        "lender's reviewer": member(lender, "reviewer"), "owner": client_of(lender.owner), "reviewer": client_of(rita),
    }  # fmt: skip


def test_each_caller_can_read_only_the_permitted_facts_and_reports(callers, application):
    first, second = (ask(callers["reviewer"], application, applicant=number).json()["id"] for number in (1, 2))
    path = f"/applications/{application.pk}"
    paths = ("/facts", "/facts?applicant=2", "/reports", f"/reports/{first}", f"/reports/{second}")
    result = {}
    for name, client in callers.items():
        facts, others, reports, report, other = responses = [client.read(f"{path}{end}") for end in paths]
        listed = reports.json() if reports.status_code == 200 else []
        raws = [response.json()["raw"] for response in (report, other) if response.status_code == 200]
        assert not any(row["raw"] for row in listed)
        assert '"person.' not in f"{facts.content}{others.content}"
        result[name] = (tuple(response.status_code for response in responses), len(listed), any(raws))
    assert result == ROWS
