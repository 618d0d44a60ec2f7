"""What attacks on accounts share: forms sent as a browser sends them, the mails of a server, requests counted."""

import contextlib
import json
import re
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from urllib.parse import urlsplit

import requests

from tests.processes import PASSWORD
from tests.system.server import manage, running

NEW_PASSWORD = "another horse, and battery"


class Browser(requests.Session):
    """A browser at one server."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.root = f"http://127.0.0.1:{port}"

    def submit(self, path: str, fields: dict[str, str]) -> requests.Response:
        """Open a page and what it redirects to, fill in its form, and send it."""
        page = self.get(self.root + path)
        return self.post(page.url, fields | {"csrfmiddlewaretoken": self.cookies.get("csrftoken", "")})

    def log_in(self, name: str, password: str = PASSWORD) -> requests.Response:
        return self.submit("/account/login", {"login": name, "password": password})


@contextlib.contextmanager
def server_with_mail(database: str, folder: str, **environment: str) -> Iterator[int]:
    """Serve service A with the key of the folder, so that the links in its mails are good; yield its port."""
    secret: str = json.loads(Path(folder, "development-secrets.json").read_text())["secret_key"]
    own = {"SECRET_KEY": secret, **environment}
    with Path(folder, "log").open("wb") as log, running(database, folder, stderr=log, **own) as server:
        yield server.port


def mails(database: str, folder: str) -> list[tuple[str, str, str]]:
    """Deliver what waits; return recipient, subject and text of every mail since the last call."""
    manage(database, folder, "deliver_mail", "--once")
    received = []
    for file in sorted(Path(folder, "mail").glob("*.eml")):
        mail = message_from_bytes(file.read_bytes(), policy=default)
        body = mail.get_body(("plain",))
        received.append((str(mail["To"]), str(mail["Subject"]), str(body.get_content()) if body else ""))
        file.unlink()
    return received


def link_to(recipient: str, part: str, received: list[tuple[str, str, str]]) -> str | None:
    """Return the path of the link to a page that one of the mails to an address contains."""
    for to, _subject, text in received:
        for link in re.findall(r"https?://\S+", text):
            if to == recipient and part in link:
                return urlsplit(link).path
    return None


def reset_password(port: int, database: str, folder: str, address: str) -> bool:
    """Choose NEW_PASSWORD by a link that is mailed to an address; return whether such a link came."""
    mails(database, folder)
    Browser(port).submit("/account/password/forgot", {"email": address})
    link = link_to(address, "/account/password/new/", mails(database, folder))
    if link is not None:
        done = Browser(port).submit(link, {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})
        assert done.url.endswith("/account/password/new/done"), done.url
    return link is not None


class Calls:
    """Requests of an attacker: how many were sent, and which of them the server answered with what they asked for."""

    def __init__(self, port: int) -> None:
        self._root = f"http://127.0.0.1:{port}/v1"
        self.tried = 0
        self.through: list[str] = []

    def send(self, name: str, method: str, path: str, body: object = None, **headers: str) -> requests.Response:
        response = requests.request(method, self._root + path, json=body, headers=headers, timeout=60)
        self.count(name, through=response.status_code < 400)
        return response

    def count(self, name: str, *, through: bool) -> None:
        self.tried += 1
        self.through += [name] if through else []

    def report(self) -> None:
        """Print the figures; raise AssertionError when one call got through."""
        print(f"{self.tried} calls tried, {len(self.through)} got through", *sorted(set(self.through)), sep="\n  ")
        assert not self.through
