"""A person's page: what is known, then the account, and the form only for whoever asks for it."""

from django.urls import reverse

from tests.backoffice.pages import text_of
from tests.backoffice.test_applications import make, page_of
from tests.factories import ClaimFactory, UserFactory


def person_page(person):
    return reverse("admin:identity_user_change", args=[person.pk])


def test_it_tells_what_every_app_knows(reviewers_client):
    person = UserFactory()
    for status in ("submitted", "submitted", "approved"):
        make(status, consumer=person)
    ClaimFactory(user=person, status="approved")
    text = text_of(reviewers_client.get(person_page(person)))
    assert "Applications 1 approved, 2 submitted" in text
    assert "Publication claims 1 approved" in text
    assert "Identity checks none" in text
    assert "Card payments none" in text
    assert "Bank accounts none" in text
    assert "API keys that count 0" in text
    assert "Edit the account" not in text


def test_a_case_tells_the_persons_claims_too(reviewers_client):
    application = make()
    ClaimFactory(user=application.consumer)
    assert "Publication claims 1 draft" in text_of(reviewers_client.get(page_of(application)))


def test_editors_of_a_person_see_the_summary_first(superusers_client):
    person = UserFactory(username="before")
    summary = superusers_client.get(person_page(person))
    assert "What is known" in text_of(summary)
    assert b'name="username"' not in summary.content
    assert "Edit the account" in text_of(summary)
    form = superusers_client.get(person_page(person), {"edit": "1"})
    assert b'name="username"' in form.content
    fields = form.context["adminform"].form.initial
    body = {name: value for name, value in fields.items() if isinstance(value, str)} | {"username": "after"}
    answer = superusers_client.post(f"{person_page(person)}?edit=1", {**body, "is_active": "on"})
    assert answer.status_code == 302, answer.content
    person.refresh_from_db()
    assert person.username == "after"


def test_the_form_is_shown_to_editors_only(reviewers_client):
    page = reviewers_client.get(person_page(UserFactory()), {"edit": "1"})
    assert b'name="username"' not in page.content


def test_editors_open_the_form_of_a_new_password(superusers_client, reviewers_client):
    address = reverse("admin:auth_user_password_change", args=[UserFactory().pk])
    assert superusers_client.get(address).status_code == 200
    assert reviewers_client.get(address).status_code == 403
