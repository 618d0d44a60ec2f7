"""A stranger asks the forms of `/account/` which addresses are known: `python -m tests.system.attack_on_names`.

Each form is asked about known and unknown addresses in turn, as many times as `--probes` says in all, in this process
and on a database of its own (an empty one that `DATABASE_URL` names, or SQLite), without rate limits: how often
somebody may ask is another defence. What is told: answers that differ in status, headers, cookies or bytes; for the
times the chance to tell a known address from an unknown one by them (0.5 is none, with the half-width in which chance
alone lies 99 times of 100), and the bits that a probe brings.
"""

import argparse
import math
import os
import re
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

PASSWORD = "correct horse battery"
FORMS = ("signup", "reset", "invitation", "login")


def furnish(folder):
    """Make a database and the accounts that are known; return their addresses."""
    os.environ |= {"VAR_DIR": folder, "SIGN_UP": "open"}
    os.environ.setdefault("DATABASE_URL", f"sqlite:///{folder}/db.sqlite3")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    from allauth.account.models import EmailAddress
    from django.conf import settings
    from django.core.management import call_command

    from identity.models import User

    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
    settings.ALLOWED_HOSTS = ["*"]
    call_command("migrate", verbosity=0)
    known = []
    for number in range(20):
        email = f"known{number:04}@example.org"
        user = User.objects.create_user(f"u{number}", email, PASSWORD)
        if number % 2:  # the others are an operator's
            EmailAddress.objects.create(user=user, email=email, primary=True, verified=True)
        known.append(email)
    return known


def browser_for(form):
    """Return a browser that has opened a form; for an invitation, one that came by its link."""
    from django.test import Client
    from django.utils import timezone

    from config.core.lifecycle import Actor
    from identity.accounts.invitations import invite
    from tests.identity.test_invitations import token_of

    browser = Client()
    if form == "invitation":
        invite(actor=Actor.system("test"), email="other@example.org", role="developer", now=timezone.now())
        browser.post(f"/account/invitation/{token_of()}")
    return browser


def ask(form, email):
    """Ask one form about an address; return what is seen (all but the address and the token) and the seconds."""
    path, data = {
        "signup": ("/account/signup", {"email": email, "password1": PASSWORD}),
        "invitation": ("/account/signup", {"email": email, "password1": PASSWORD}),
        "reset": ("/account/password/forgot", {"email": email}),
        "login": ("/account/login", {"login": email, "password": "not this one"}),
    }[form]
    browser = browser_for(form)
    began = time.perf_counter()
    answer = browser.post(path, data)
    seconds = time.perf_counter() - began
    text = answer.content.decode().replace(email, "…")
    text = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text)
    headers = sorted((name, value) for name, value in answer.headers.items() if name != "X-Request-Id")
    return (answer.status_code, text, str(headers), sorted(answer.cookies)), seconds


def probe(form, known, count, threads):
    """Ask about known and unknown addresses in turn; return what was seen and how long it took, for each."""
    from django.db import connection

    questions = [(number % 2 == 0, number) for number in range(count)]

    def one(question):
        is_known, number = question
        with closing(connection):
            email = known[number // 2 % len(known)] if is_known else f"n{number:08}@example.org"
            return is_known, *ask(form, email)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, questions))


def chance(known, unknown):
    """Return the chance that a known address's answer takes longer than an unknown one's (area under the ROC curve)."""
    ranked = sorted([(seconds, 1) for seconds in known] + [(seconds, 0) for seconds in unknown])
    above = sum(place for place, (_, is_known) in enumerate(ranked, 1) if is_known)
    return (above - len(known) * (len(known) + 1) / 2) / (len(known) * len(unknown))


def bits(share):
    """Return what a channel tells that is right with a share of `share`, in bits."""
    return 1 + sum(part * math.log2(part) for part in (share, 1 - share) if part > 0)


def report(form, answers):
    """Print what a form told; return whether it told nothing."""
    known, unknown = ([one for one in answers if one[0] is which] for which in (True, False))
    same = {repr(one[1]) for one in known} == {repr(one[1]) for one in unknown}
    times = [[one[2] for one in group] for group in (known, unknown)]
    share = chance(*times)
    width = 2.576 * math.sqrt((len(known) + len(unknown) + 1) / (12 * len(known) * len(unknown)))
    medians = " / ".join(f"{statistics.median(group) * 1000:.1f}" for group in times)
    print(
        f"{form:<10} probes {len(answers):>6}  same answers: {same}  median ms known / unknown {medians}  "
        f"chance {share:.3f} ± {width:.3f}  bits {0.0 if abs(share - 0.5) <= width else bits(share):.4f}",
        flush=True,
    )
    return same and abs(share - 0.5) <= width


def main():
    """Probe every form and say what it told."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probes", type=int, default=10_000, help="in all; a quarter of them for each form")
    parser.add_argument("--threads", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        known = furnish(folder)
        told = [report(form, probe(form, known, options.probes // len(FORMS), options.threads)) for form in FORMS]
    return 0 if all(told) else 1


if __name__ == "__main__":
    sys.exit(main())
