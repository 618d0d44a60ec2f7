"""Send forms to the account pages: do other callers wait, and does the time of a response reveal an account?

`python -m tests.system.attacks.account_posts`
"""

import http.client
import statistics
import tempfile
import threading
import time
from itertools import count
from pathlib import Path
from urllib.parse import urlencode

from tests.system.server import manage, running

PER_SECOND, SECONDS, PAIRS = 40, 15, 150
CSRF = "a" * 32  # A browser chooses its cookie; the form repeats it.
FORMS = {
    "/account/login": ("login", {"password": "wrong-password-1"}),
    "/account/signup": ("email", {"password1": "correct horse battery 9"}),
    "/account/password/forgot": ("email", {}),
}
_addresses = count(1)


def send(
    port: int, method: str, path: str, form: dict[str, str] | None = None, *, csrf: bool = True
) -> tuple[int, float]:
    """Send one request from a client address of its own; return the status and the seconds that it took."""
    number = next(_addresses)
    headers = {"X-Forwarded-For": f"198.{18 + number // 65536 % 2}.{number // 256 % 256}.{number % 256}"}
    body = None
    if form is not None:
        body = urlencode(form | ({"csrfmiddlewaretoken": CSRF} if csrf else {}))
        headers |= {"Content-Type": "application/x-www-form-urlencoded", "Cookie": f"csrftoken={CSRF}"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    began = time.perf_counter()
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status, time.perf_counter() - began


def others_wait(port: int, *, csrf: bool) -> tuple[float, float]:
    """Return another caller's median seconds for a page: before the attack, and during it."""

    def median(reads: int) -> float:
        return statistics.median(send(port, "GET", "/.well-known/jwks.json")[1] for _ in range(reads))

    def attack() -> None:
        for number in range(PER_SECOND * SECONDS):
            form = {"email": f"{number}@b.example"}
            arguments = (port, "POST", "/account/password/forgot", form)
            threading.Thread(target=send, args=arguments, kwargs={"csrf": csrf}).start()
            time.sleep(1 / PER_SECOND)

    before, during = median(50), []
    attacker = threading.Thread(target=attack)
    attacker.start()
    while attacker.is_alive():
        during.append(median(1))
        time.sleep(0.1)
    return before, statistics.median(during)


def name_shows(port: int, path: str) -> tuple[float, float, float]:
    """Return the median seconds for a known and an unknown address, and how often the known one is slower."""
    field, more = FORMS[path]
    known, unknown = [], []
    for number in range(PAIRS):
        known.append(send(port, "POST", path, {field: f"known{number}@example.org", **more})[1])
        unknown.append(send(port, "POST", path, {field: f"other{number}@example.org", **more})[1])
    slower = sum(left > right for left in known for right in unknown) / len(known) / len(unknown)
    return statistics.median(known), statistics.median(unknown), slower


SEED = """
from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import make_password
from identity.models import User
password = make_password("correct horse battery")
for number in range({pairs}):
    user = User.objects.create(username=f"u{{number}}", email=f"known{{number}}@example.org", password=password)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/db.sqlite3"
        manage(database, folder, "migrate", "--verbosity", "0")
        manage(database, folder, "shell", "-v", "0", "-c", SEED.format(pairs=PAIRS))
        more = {"TRUSTED_PROXIES": "127.0.0.1"}
        with Path(folder, "log").open("wb") as log, running(database, folder, threads=16, stderr=log, **more) as server:
            for csrf in (False, True):
                before, during = others_wait(server.port, csrf=csrf)
                kind = "accepted" if csrf else "refused for CSRF"
                print(f"{PER_SECOND} POSTs/s, {kind}: another caller's GET {before:.3f} s, during it {during:.3f} s")
            for path in FORMS:
                known, unknown, chance = name_shows(server.port, path)
                print(f"{path}: known {known * 1000:.1f} ms, unknown {unknown * 1000:.1f} ms, slower in {chance:.0%}")


if __name__ == "__main__":
    main()
