"""Links lead to the record that they name, whatever its id is made of."""

import pytest
from django.urls import reverse
from django.utils import timezone

from config.backoffice.html import change_address
from config.core.casework import Note
from identity.oauth.clients import create_client
from payments.cards.models import ProcessorEvent
from tests.backoffice.pages import links_of
from tests.factories import ProviderFactory, ScoringModelFactory

ODD = ["a\nb", "a/b?c#d", "evt_3Ax_5F", "a b%0A", "é\u2028ü", '"><b>', "..", "x" * 255]


@pytest.mark.parametrize("name", ODD)
def test_every_link_to_a_record_leads_to_it(superusers_client, superuser, name):
    now = timezone.now()
    model = ScoringModelFactory(provider=ProviderFactory(id=name, owner=superuser))
    ProcessorEvent.objects.create(id=name, type="x", detail={}, received_at=now)
    Note.objects.create(kind="credit.provider", record_id=name, author=superuser, text="look", at=now)
    assert superusers_client.get(reverse("admin:credit_modelversion_changelist")).status_code == 200
    provider, event = (change_address(kind, name) for kind in ("credit_provider", "payments_processorevent"))
    for kind, address in (
        ("credit_scoringmodel", provider), ("credit_provider", provider), ("backoffice_note", provider),
        ("payments_processorevent", event),
    ):  # fmt: skip
        response = superusers_client.get(reverse(f"admin:{kind}_changelist"))
        assert address in {link.partition("?")[0] for link in links_of(response)}, kind
        opened = superusers_client.get(address)
        assert (opened.status_code, opened.context["original"].pk) == (200, name)
    assert superusers_client.get(reverse("admin:credit_scoringmodel_change", args=[model.pk])).status_code == 200


def test_the_page_of_an_oauth_client_opens(superusers_client):
    client, _ = create_client(
        name="Shop", redirect_uris=["https://shop.example/back"], scopes=["offers:read"], public=True
    )
    response = superusers_client.get(reverse("admin:identity_oauthclient_change", args=[client.pk]))
    assert response.status_code == 200
    assert "https://shop.example/back" in response.content.decode()
