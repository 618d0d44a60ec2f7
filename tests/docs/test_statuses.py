"""Test that the status tables list the transitions that the state machines allow."""

import re

from claims import machine as claims
from config.core.lifecycle import Role
from credit.core import machine as applications
from credit.models import notices
from credit.models import scoring as versions
from identity.kyc import machine as verifications
from payments.crypto import machine as crypto
from staging import machine as staging
from tests.documents import page

NAMES = {Role.OWNER: "owner", Role.REVIEWER: "reviewer", Role.SYSTEM: "platform", Role.EITHER: "owner or reviewer"}
MACHINES = {
    "Application": applications, "Claim": claims, "Identity verification": verifications, "Crypto payment": crypto,
    "Staged item": staging, "Scoring model version": versions, "Notice": notices,
}  # fmt: skip
# `Role.EITHER` of these machines includes the platform. Only a reviewer decides a verification, only its owner cancels.
OWNER_OR_PLATFORM, REVIEWER_OR_PLATFORM = "owner or platform", "reviewer or platform"
WITH_PLATFORM = {
    ("Identity verification", verifications.CANCELED): OWNER_OR_PLATFORM,
    ("Identity verification", verifications.VERIFIED): REVIEWER_OR_PLATFORM,
    ("Identity verification", verifications.FAILED): REVIEWER_OR_PLATFORM,
    **{("Crypto payment", to): OWNER_OR_PLATFORM for to in crypto.MACHINE.statuses},
    ("Notice", notices.DELIVERED): "owner or reviewer or platform",
}


def name_of(machine, to, role):
    return WITH_PLATFORM.get((machine, to), NAMES[role]) if role is Role.EITHER else NAMES[role]


def test_documented_status_table_matches_the_state_machine():
    for name, machine in MACHINES.items():
        section = page("reference/statuses.md").partition(f"## {name} statuses\n")[2].partition("\n## ")[0]
        shown = {}
        for status, following in re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", section, re.MULTILINE):
            shown[status] = dict(re.findall(r"`(\w+)` ([a-z ]+)", following))
        transitions = machine.MACHINE.transitions.items()
        assert shown == {
            start: {to: name_of(name, to, role) for to, role in ends.items()} for start, ends in transitions
        }
