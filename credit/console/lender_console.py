"""The lender console: the lender's members, and a rule for each model.

The rule defines the records that members can see.

Members see no records of models without a rule.
"""

from collections.abc import Iterator
from typing import Any

from django.db.models import Exists, OuterRef, Q

from config.backoffice.consoles import UNMASK_ERASED, Console, Rule, Seat, of_provider
from credit.console.people import applicants_of
from credit.models import ProviderMember
from credit.models.applications import REVIEW_PERMISSION
from credit.models.scoring import PUBLISH
from credit.offers.member_roles import console_memberships
from credit.offers.providers import sent_to

PERMISSIONS = (REVIEW_PERMISSION, PUBLISH, UNMASK_ERASED)


def seats_of(user: Any) -> Iterator[Seat]:
    """Yield a seat (the lender, and the member's rights) for each lender of which `user` is a member.

    Either the user or the lender's owner must be in the group `Lender`.
    """
    for member in console_memberships(user):
        yield Seat(
            member.provider_id,
            member.provider.created_at,
            decides=member.decides,
            owns=member.role == member.OWNER,
            name=member.provider.name,
            logo=member.provider.logo_path,
        )


def sent(to_application: str = "", *, with_erased: bool = False) -> Rule:
    """Return the rule for applications that were submitted to a lender after the lender's creation.

    `to_application` is the lookup path from a related record to the application.
    """

    def rule(console: Console) -> Q:
        condition = Q()
        for seat in console.seats:
            condition |= sent_to(seat.provider_id, seat.since, to_application=to_application, with_erased=with_erased)
        return condition or Q(pk__in=())

    return rule


def decides(account: str, provider: str) -> Q:
    """Return the condition that the account in the column `account` can decide for the lender in `provider`."""
    members = ProviderMember.objects.filter(user=OuterRef(account), provider=OuterRef(provider), user__is_active=True)
    return Q(Exists(members.filter(role__in=ProviderMember.DECIDING)))


_OF_APPLICATION = (
    "applicationhistory", "applicationrevision", "clock", "contractwithdrawal", "correction", "counteroffer", "notice",
    "proposal", "reviewrequest",
)  # fmt: skip
RULES = {
    "credit.application": sent(),
    "credit.applicant": applicants_of(sent()),
    **{f"credit.{model}": sent("application__") for model in _OF_APPLICATION},
    "credit.offer": of_provider("provider"),
    "credit.provider": of_provider("pk"),
    "credit.scoringmodel": of_provider("provider"),
    "credit.modelversion": of_provider("model__provider"),
}
