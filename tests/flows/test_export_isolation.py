"""Test that a data export contains no data of any other person in the database."""

import os
import re

import pytest
from allauth.account.models import EmailAddress
from django.db import transaction
from django.utils import timezone

from config.core.casework import Note
from config.mail.outbox import queue_mail
from tests.factories import UserFactory
from tests.flows.test_erasure import planted
from tests.flows.test_export import exported

pytestmark = pytest.mark.django_db
EXPORTS = int(os.environ.get("EXPORTS", "6"))
PEOPLE = min(EXPORTS, 20)  # The database contains this many people at the same time.


def plant(person):
    marker = f"mk{person.pk}x"
    application = planted(person, marker)
    EmailAddress.objects.create(user=person, email=f"{marker}@example.test", verified=True)
    queue_mail(f"{marker}@example.test", "notice", {"name": marker}, now=timezone.now())
    about = {"kind": "credit.application", "record_id": str(application.pk)}
    Note.objects.create(author=UserFactory(), text=marker, at=timezone.now(), **about)


def test_data_exports_contain_no_data_of_another_person():
    for _ in range(0, EXPORTS, PEOPLE):
        with transaction.atomic():
            people = [UserFactory() for _ in range(PEOPLE)]
            for person in people:
                plant(person)
            for number, person in enumerate(people):
                copies = exported(person, is_for_partner=bool(number % 2))
                owners = {owner for content in copies.values() for owner in re.findall(rb"mk([0-9]+)x", content)}
                assert owners == {str(person.pk).encode()}
            transaction.set_rollback(True)
