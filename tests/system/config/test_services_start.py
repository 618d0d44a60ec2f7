"""Each service starts with its own list of apps."""

import os
import subprocess
import sys

import pytest

from tests.documents import ROOT


@pytest.mark.parametrize("service", ["platform", "ledger"])
def test_service_loads_its_apps_and_urls(service):
    code = "import django; django.setup(); from django.urls import reverse; reverse('docs')"
    environment = {**os.environ, "SERVICE": service, "DJANGO_SETTINGS_MODULE": "config.settings"}
    if service == "ledger":
        code = "import django; django.setup(); from django.urls import reverse; reverse('docs', urlconf='ledger.urls')"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
