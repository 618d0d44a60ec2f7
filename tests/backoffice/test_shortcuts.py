"""Django's shortcut from a record to its page on a website: there is no website, and no such address."""

import pytest
from django.contrib.contenttypes.models import ContentType

from credit.models import Application
from identity.models import User


@pytest.mark.parametrize("key", ["1", "0", "x", "01942424-2424-7242-8242-424242424242", "9" * 30])
def test_no_content_type_and_no_key_has_a_page_or_a_fault(superusers_client, key):
    kinds = ContentType.objects.get_for_models(User, Application).values()  # numbered, and by UUID
    for number in [0, 10**9, *(kind.pk for kind in kinds)]:
        assert superusers_client.get(f"/admin/r/{number}/{key}/").status_code == 404
