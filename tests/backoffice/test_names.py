"""What models and apps are called where people read it: words, in the singular and the plural that people use."""

import re

import pytest
from django.apps import apps
from django.contrib import admin

ROOTS = {"config", "identity", "credit", "claims", "payments", "staging", "ledger"}
APPS = [app for app in apps.get_app_configs() if app.name.partition(".")[0] in ROOTS]
OURS = [model for app in APPS for model in app.get_models()]
SHOWN = sorted(admin.site._registry, key=str)
# Words of which there are not several, and those that stand in the plural already.
UNCOUNTED = {"history", "mail", "terms", "facts"}
ACRONYMS = {"API", "OAuth"}
# What is wrong about a plural that was made by adding an "s".
WRONG_PLURAL = re.compile(r"(ss|xs|chs|shs|[^aeiou]ys)$")


def label(model):
    return model._meta.label


@pytest.mark.parametrize("model", OURS + [one for one in SHOWN if one not in OURS], ids=label)
def test_a_models_name_is_one_that_people_say(model):
    one, many = str(model._meta.verbose_name), str(model._meta.verbose_name_plural)
    for word in f"{one} {many}".replace("-", " ").split():
        assert word in ACRONYMS or re.fullmatch("[a-z]*[aeiouy][a-z]*", word.removesuffix("s")), word
        assert word.removesuffix("s").upper() not in {"API", "KYC", "URL", "UUID", "SQL", "JSON"} or word in ACRONYMS
    last = one.rsplit(maxsplit=1)[-1]
    if last in UNCOUNTED:
        assert many == one
    else:
        assert many != one
        assert not WRONG_PLURAL.search(many), many
        assert many.startswith(one[:-1])


def test_no_two_models_of_the_back_office_are_called_alike():
    names = [(model._meta.app_label, str(model._meta.verbose_name_plural)) for model in SHOWN]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.label)
def test_an_apps_name_is_one_that_people_say(app):
    assert re.fullmatch(r"[A-Z][a-z]+( [a-z]+)*", app.verbose_name), app.verbose_name
    assert app.verbose_name not in {"Api", "Ops", "Docs"}
