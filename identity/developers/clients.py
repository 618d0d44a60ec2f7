from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from identity.access.models import OAuthClient
from identity.access.scopes import SCOPES
from identity.developers.base import DeveloperPage, actor_on, show_secrets
from identity.oauth import own_clients
from identity.oauth.serializers import OAuthClientChangeRequestSerializer, OAuthClientRequestSerializer


def _asked(request: HttpRequest) -> dict[str, Any]:
    given = request.POST
    return {
        "name": given.get("name", ""),
        "redirect_uris": given.get("redirect_uris", "").split(),
        "scopes": given.getlist("scopes"),
    }


def _shown(request: HttpRequest, client: OAuthClient) -> HttpResponse:
    secrets = {"Client id": client.client_id, "Client secret": client.plain_secret}
    return show_secrets(request, f"The client “{client.name}”", secrets, back="developers_clients")


class ClientsPage(DeveloperPage):
    template_name = "developers/clients.html"
    buttons = ("make",)

    def facts(self, request: HttpRequest, **_parts: str) -> dict[str, Any]:
        own = own_clients.clients_of(request.user)
        return {"clients": own[: own_clients.CLIENTS_MAX], "scopes": SCOPES, "chosen": request.POST.getlist("scopes")}

    def make(self, request: HttpRequest) -> HttpResponse:
        body = OAuthClientRequestSerializer.read({**_asked(request), "public": request.POST.get("public") == "yes"})
        return _shown(request, own_clients.create_own_client(actor_on(request), **body, now=timezone.now()))


class ClientPage(DeveloperPage):
    template_name = "developers/client.html"
    buttons = ("change", "rotate", "remove")

    def facts(self, request: HttpRequest, **parts: str) -> dict[str, Any]:
        client = own_clients.load_own_client(request.user, parts["client_id"])
        chosen = request.POST.getlist("scopes") if "scopes" in request.POST else client.scopes
        return {"client": client, "scopes": SCOPES, "chosen": chosen}

    def change(self, request: HttpRequest, client_id: str) -> str:
        changes = OAuthClientChangeRequestSerializer.read(_asked(request))
        own_clients.change_own_client(actor_on(request), client_id, changes=changes, now=timezone.now())
        return "The client is changed."

    def rotate(self, request: HttpRequest, client_id: str) -> HttpResponse:
        return _shown(request, own_clients.rotate_own_secret(actor_on(request), client_id, now=timezone.now()))

    def remove(self, request: HttpRequest, client_id: str) -> HttpResponse:
        own_clients.delete_own_client(actor_on(request), client_id, now=timezone.now())
        messages.success(request, "The client is deleted, with everything that people let it do.")
        return HttpResponseRedirect(reverse("developers_clients"))
