"""Providers, who acts for them, and what they offer. Django finds these models through `credit.models`."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.ids import uuid7
from config.core.json_text import JsonTextField
from credit.core.search_words import as_column, words_of


class Provider(models.Model):
    """A provider id and the account that it belongs to, which is one of its members.

    Members review the applications that name it. Applications from before its first use were meant for the provider of
    another marketplace: they stay out of their reach.
    """

    id = models.CharField(primary_key=True, max_length=255)
    name = models.CharField(max_length=255, blank=True, default="", help_text="Empty where an id was taken by its use.")
    address = models.CharField(
        max_length=500, blank=True, default="", help_text="Where people write to; notices name it. Lines as they are."
    )
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="providers")
    members: Any = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="ProviderMember", related_name="provider_memberships"
    )
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.id


class ProviderMember(models.Model):
    """An account that acts for a provider, as far as its role goes: each may do what the ones after it may."""

    OWNER, REVIEWER, READER = "owner", "reviewer", "reader"
    ROLES = (OWNER, REVIEWER, READER)
    DECIDING = (OWNER, REVIEWER)

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)

    role = models.CharField(
        max_length=16,
        default=REVIEWER,
        choices=[
            (OWNER, "owner: decides, makes offers, says who acts for it"),
            (REVIEWER, "reviewer: reads and decides"),
            (READER, "reader: reads"),
        ],
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "user"], name="credit_provider_member"),
            models.CheckConstraint(condition=Q(role__in=("owner", "reviewer", "reader")), name="credit_member_role"),
        ]

    @property
    def decides(self) -> bool:
        return self.role in self.DECIDING

    @property
    def is_owner(self) -> bool:
        return self.user_id == self.provider.owner_id

    def __str__(self) -> str:
        return f"{self.user} for {self.provider_id}"


class ProviderInvitation(models.Model):
    """A user name that a provider's owner has invited; the account with it is a member after accepting.

    Also stored for unknown user names: the owner cannot find out which exist. `user` bore it when it was invited.
    """

    VALID_FOR = timedelta(days=7)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="invitations", db_index=False)
    username = models.CharField(max_length=255)
    role = models.CharField(max_length=16, default=ProviderMember.REVIEWER)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    invited_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["provider", "username"], name="credit_provider_invitation")]

    def __str__(self) -> str:
        return f"{self.username} for {self.provider_id}"

    @property
    def expires_at(self) -> datetime:
        return self.invited_at + self.VALID_FOR


class Offer(models.Model):
    """What a provider offers. Percentages are per year, amounts are cents, terms are months."""

    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="offers", db_index=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="offers")
    name = models.CharField(max_length=255)
    description = models.TextField(blank=True, default="")
    product_type = models.CharField(max_length=255)
    apr_min_percent = models.FloatField(null=True)
    apr_max_percent = models.FloatField(null=True)
    loan_amount_min_cents = models.BigIntegerField(null=True)
    loan_amount_max_cents = models.BigIntegerField(null=True)
    term_options_months = JsonTextField(null=True)
    nationwide = models.BooleanField(null=True)
    included_states = JsonTextField(null=True)
    excluded_states = JsonTextField(null=True)
    customer_segment = models.CharField(max_length=255, null=True)  # noqa: DJ001  null is an answer of the interface
    blockscore_model_id = models.BigIntegerField(null=True)
    ab_test_variant = models.CharField(max_length=255, null=True)  # noqa: DJ001
    ab_test_allocation = models.IntegerField(null=True)
    # What an application to it needs (`credit.requirements`).
    application_schema = JsonTextField(null=True)
    required_documents = JsonTextField(null=True)
    applicant_requires = JsonTextField(null=True)
    is_active = models.BooleanField(default=True)
    search_words = models.TextField(default="", editable=False)  # as `words.as_column` writes them
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    # Fields that a body may set and that a new version replaces.
    TERMS = (
        "name", "description", "product_type", "apr_min_percent", "apr_max_percent", "loan_amount_min_cents",
        "loan_amount_max_cents", "term_options_months", "nationwide", "included_states", "excluded_states",
        "customer_segment", "blockscore_model_id", "ab_test_variant", "ab_test_allocation",
        "application_schema", "required_documents", "applicant_requires",
    )  # fmt: skip

    class Meta:
        indexes = [
            models.Index(fields=["provider", "-id"], name="credit_offer_provider"),
            models.Index(fields=["-id"], condition=Q(is_active=True), name="credit_offer_active"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.provider_id})"

    def save(self, **options: Any) -> None:
        self.search_words = self.words_in(self.provider_id, self.terms())
        super().save(**options)

    @staticmethod
    def words_in(provider_id: str, terms: Mapping[str, Any]) -> str:
        kind = terms["product_type"].replace("_", " ")
        return as_column(words_of(f"{terms['name']} {terms['description'] or ''} {kind} {provider_id}"))

    def terms(self) -> dict[str, Any]:
        return {"provider_id": self.provider_id, **{name: getattr(self, name) for name in self.TERMS}}
