"""The main links on every page of the back office, which apps declare (`Declarations.console_pages`)."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from config.backoffice.consoles import console_of
from config.core.registration import declared


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """A main link to the list of a model (`app.model`).

    `title` is for staff, `for_lenders` for members of lenders; an empty title hides the link.
    """

    model: str
    title: str
    rank: int  # lower ranks are further left
    for_lenders: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    title: str
    address: str
    is_current: bool


def main_links(request: HttpRequest, available_apps: list[dict[str, Any]]) -> list[Link]:
    addresses = {
        f"{app['app_label']}.{model['object_name'].lower()}": model["admin_url"]
        for app in available_apps
        for model in app["models"]
    }
    is_lender = console_of(request.user) is not None
    pages: list[ConsolePage] = sorted(declared("console_pages"), key=lambda page: page.rank)
    titled = [(page.for_lenders if is_lender else page.title, addresses.get(page.model)) for page in pages]
    return [Link(title, to, request.path.startswith(to)) for title, to in titled if title and to]


PAGES = (ConsolePage("backoffice.dataaccess", "Audit", 60, for_lenders="Audit"),)
