"""Test which files are accepted as a lender's logo, who sets the logo, and how it is served."""

import base64
import hashlib
import time

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from credit.core.logos import MAX_BYTES, NotALogo, read_logo
from credit.models import Application, Provider, ProviderLogo
from identity.access.authentication import forget_credentials
from tests.api import assert_error
from tests.backoffice.lenders import console_client, lender_of
from tests.backoffice.pages import seen_value, send_form
from tests.credit.logo_files import ACCEPTED, PNG, REFUSED, SVG, chunk, png
from tests.factories import OfferFactory, ProviderFactory

BODY = {"name": "Harbor Bank", "address": "1 Quay\nPortland, OR 97201"}


def encoded(content):
    return base64.b64encode(content).decode()


def test_valid_lender_logo_is_accepted():
    for name, content in ACCEPTED.items():
        assert read_logo(content).content, name
    assert read_logo(SVG + b" " * (MAX_BYTES - len(SVG))).media_type == "image/svg+xml"


def test_unsafe_or_invalid_lender_logo_is_rejected_with_the_reason():
    for name, (content, reason) in REFUSED.items():
        begun = time.process_time()
        with pytest.raises(NotALogo) as refusal:
            read_logo(content)
        assert reason in str(refusal.value), name
        assert time.process_time() - begun < 1, name


def test_metadata_is_removed_from_a_png_logo():
    stored = read_logo(png(chunk(b"tEXt", b"Author\0Jane Doe"), chunk(b"eXIf", b"GPS")))
    assert (stored.content, stored.media_type) == (PNG, "image/png")


@pytest.fixture
def provider(user):
    return ProviderFactory(owner=user, **BODY)


@pytest.fixture
def put(api, provider):
    return lambda **members: api.replace(f"/providers/{provider.pk}", {**BODY, **members})


def test_logo_is_served_at_a_path_with_its_digest_until_replaced_or_removed(put, api, provider):
    for content, media_type in ((SVG, "image/svg+xml"), (PNG, "image/png")):
        url = put(logo=encoded(content)).json()["logo_url"]
        path = "/" + url.partition("://")[2].partition("/")[2]
        assert path == f"/logos/{hashlib.sha256(content).hexdigest()}"
        answer = Client().get(path)
        assert (answer.status_code, answer.content, answer["Content-Type"]) == (200, content, media_type)
        assert answer["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert "immutable" in answer["Cache-Control"]
        assert "Set-Cookie" not in answer
        assert Client().post(path).status_code == 405
        assert put().json()["logo_url"] == url
    assert ProviderLogo.objects.get().media_type == "image/png"
    [listed] = api.read("/providers").json()["providers"]
    assert (listed["provider_id"], listed["logo_url"]) == (provider.pk, url)
    assert put(logo=None).json()["logo_url"] is None
    assert not ProviderLogo.objects.exists()
    for missing in (path, "/logos/x", f"/logos/{'0' * 64}", "/logos/%00"):
        assert Client().get(missing).status_code == 404, missing


def test_lender_can_be_created_with_a_logo(api, user):
    user.groups.add(Group.objects.get(name="Lender"))
    forget_credentials()
    response = api.send("/providers", {**BODY, "logo": encoded(PNG)})
    assert response.status_code == 201
    assert response.json()["logo_url"].endswith(hashlib.sha256(PNG).hexdigest())


def test_error_for_an_invalid_logo_is_reported_at_the_logo_field(put, provider):
    for logo, reason in (
        ("data:image/png;base64,AAAA", "without a prefix"), ("not Base64", "Must be the Base64"),
        (encoded(b"GIF89a"), "a PNG or SVG file"), ("A" * 200_000, "at most 65,536 bytes"),
        (encoded(SVG + b" " * (MAX_BYTES + 1 - len(SVG))), "at most 65,536 bytes"), ("", "a PNG or SVG file"),
        (7, ""), ([encoded(SVG)], ""),
    ):  # fmt: skip
        [detail] = assert_error(put(logo=logo, name="Other Bank"), 400, "E1001")["details"]
        assert detail["field"] == "logo"
        assert reason in detail["message"]
    provider.refresh_from_db()
    assert (provider.name, provider.logo_sha256) == ("Harbor Bank", None)


def test_only_an_owner_can_set_the_lender_logo(api, user, stranger):
    other = ProviderFactory(owner=stranger, **BODY)
    members = {**BODY, "logo": encoded(SVG)}
    assert_error(api.replace(f"/providers/{other.pk}", members), 404, "E4012")
    other.members.add(user)
    assert_error(api.replace(f"/providers/{other.pk}", members), 403, "E2011")
    assert not ProviderLogo.objects.exists()


class TestPages:
    @pytest.fixture
    def lender(self, db):
        return lender_of("quartz", 701)

    @pytest.fixture
    def owner(self, lender):
        return console_client(lender.people["owner"])

    @staticmethod
    def page_of(lender, name="logo"):
        return reverse("admin:credit_provider_do", args=[str(lender.number), name])

    def upload(self, client, lender, content, name="logo.svg"):
        send_form(client, self.page_of(lender), logo=SimpleUploadedFile(name, content))

    def test_uploaded_logo_is_in_the_console_header_of_every_member(self, owner, lender):
        assert "multipart/form-data" in owner.get(self.page_of(lender)).content.decode()
        self.upload(owner, lender, SVG)
        shown = f'<img class="lender-logo" src="/logos/{hashlib.sha256(SVG).hexdigest()}" alt="">'
        assert shown in owner.get("/admin/").content.decode()
        assert shown in console_client(lender.people["reader"]).get("/admin/").content.decode()
        assert "/logos/" not in console_client(lender_of("basalt", 702).people["owner"]).get("/admin/").content.decode()
        send_form(owner, self.page_of(lender, "remove-logo"))
        assert "/logos/" not in owner.get("/admin/").content.decode()

    def test_rejected_logo_upload_retains_the_logo_and_shows_the_reason(self, owner, lender):
        self.upload(owner, lender, SVG)
        seen = seen_value(owner.get(self.page_of(lender)))
        script = SimpleUploadedFile("a.svg", REFUSED["a script"][0])
        page = owner.post(self.page_of(lender), {"seen": seen, "logo": script})
        assert "must not have the element `script`" in page.content.decode()
        assert bytes(ProviderLogo.objects.get().content) == SVG

    def test_only_an_owner_of_the_lender_can_upload_a_logo(self, lender):
        for role in ("reviewer", "reader"):
            assert console_client(lender.people[role]).get(self.page_of(lender)).status_code == 403
        other = console_client(lender_of("basalt", 702).people["owner"])
        assert other.get(self.page_of(lender)).status_code in {302, 403, 404}
        other.post(self.page_of(lender), {"logo": SimpleUploadedFile("a.svg", SVG)})
        assert not ProviderLogo.objects.exists()

    def test_applicant_pages_show_the_lender_logo_with_offers_and_contact_data(self, owner, lender):
        self.upload(owner, lender, PNG)
        offer = OfferFactory(provider_id=str(lender.number))
        application = Application.objects.filter(provider_id=lender.number).exclude(submitted_at=None).first()
        client = Client()
        client.force_login(application.consumer)
        shown = f'<img src="/logos/{hashlib.sha256(PNG).hexdigest()}" alt="">'
        for address in ("/my/apply", f"/my/apply/{offer.pk}", f"/my/applications/{application.pk}"):
            assert shown in client.get(address).content.decode(), address

    def test_applicant_pages_show_the_initial_of_a_lender_without_a_logo(self, lender):
        provider = Provider.objects.get(pk=str(lender.number))
        offer = OfferFactory(provider=provider)
        for name, initial in (("<i>bank</i>", "&lt;"), ("\u00e9toile Bank", "\u00c9"), ("Harbor Bank", "H")):
            provider.name = name
            provider.save()
            shown = f'<p class="logo" aria-hidden="true"><span>{initial}</span></p>'
            for address in ("/my/apply", f"/my/apply/{offer.pk}"):
                assert shown in Client().get(address).content.decode(), (name, address)
