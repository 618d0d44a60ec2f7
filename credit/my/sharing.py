"""The data that an applicant can share with the lender in addition to the application."""

from collections.abc import Collection
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from credit.my.content import SHARED
from credit.my.person_form import DraftForm
from identity.bank.models import BankAccount, BankItem
from identity.kyc.machine import UNUSED
from identity.kyc.models import KycVerification


def areas_with_data(user: Any) -> frozenset[str]:
    """Return the areas of `SHARED` for which the account has data. Costs at most three queries."""
    has_bank = BankItem.objects.linked().filter(user=user).exists() or BankAccount.objects.filter(user=user).exists()
    has_check = KycVerification.objects.filter(user=user).exclude(status__in=UNUSED).exists()
    return frozenset(area for area, has_data in (("bank", has_bank), ("identity", has_check)) if has_data)


class ShareForm(DraftForm):
    """The form of the additional data that the applicant shares with the lender.

    The form shows the areas with data, and the areas that are selected already. It accepts every area, because the
    account's data can change before the applicant sends the form.
    """

    share = forms.MultipleChoiceField(
        choices=list(SHARED.items()), required=False, widget=forms.CheckboxSelectMultiple,
        label=_("The lender may also see"),
    )  # fmt: skip

    def __init__(self, typed: Any, *, stored: Collection[str], areas: Collection[str]) -> None:
        super().__init__(typed, prefix="share", initial={"share": stored}, label_suffix="")
        shown = {*areas, *(self["share"].value() or ())}
        self.fields["share"].widget.choices = [item for item in SHARED.items() if item[0] in shown]
        self.is_empty = not self.fields["share"].widget.choices
