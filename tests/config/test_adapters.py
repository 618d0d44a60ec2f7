"""Test the vendor adapters that an installation adds as `package.module:Class`."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env
from config.core.adapters import load_adapter
from identity.providers.choice import open_banking
from identity.providers.sandbox import Sandbox


def test_adapter_setting_that_is_not_a_module_and_class_path_is_rejected(monkeypatch):
    for place in ["os", "os:", "os.path", "a b:C", "../x:C", "os:path.join"]:
        monkeypatch.setenv("REPORTS", place)
        with pytest.raises(ImproperlyConfigured, match=r"package\.module:Class"):
            env.adapter("REPORTS", "off", ("off", "sandbox"))
        with pytest.raises(ValueError, match=r"package\.module:Class"):
            load_adapter(place)


def test_open_banking_setting_accepts_an_adapter(settings):
    settings.OPEN_BANKING = "tests.config.test_adapters:Own"
    assert isinstance(open_banking().adapter, Own)


class Own(Sandbox):
    """An adapter of an installation."""
