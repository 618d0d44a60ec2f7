"""Which moments move with an account's clock, and which stay: of every table, so that a new one is thought about."""

from datetime import timedelta

import pytest
from django.apps import apps
from django.db import models
from django.utils import timezone

from config.sandbox import timers
from credit.models import Application
from tests.factories import ApplicationFactory

EVIDENCE = "tells what happened, and never changes"
SHOWN = "shown to people, and compared with nothing"
SERVER = "is the server's, and no account's"
STAFF = "is about the work of staff"
SANDBOX = "the sandbox's memory, compared with nothing"
OTHERS = "a table of a library: we read none of it by time"
LEDGER = "is of the other service"

# Moments that stay where they are, and why.
KEPT = {
    "admin.LogEntry.action_time": EVIDENCE,
    "api.UnreadableValue.found_at": SERVER,
    "axes.AccessAttempt.attempt_time": "is of a name and an address, not of an account",
    "axes.AccessAttemptExpiration.expires_at": "is of a name and an address, not of an account",
    "axes.AccessFailureLog.attempt_time": "is of a name and an address, not of an account",
    "axes.AccessLog.attempt_time": EVIDENCE,
    "axes.AccessLog.logout_time": EVIDENCE,
    "backoffice.Assignment.assigned_at": STAFF,
    "backoffice.Authenticator.created_at": STAFF,
    "backoffice.Authenticator.last_used_at": STAFF,
    "backoffice.Authenticator.throttling_failure_timestamp": STAFF,
    "backoffice.DataAccess.at": EVIDENCE,
    "backoffice.Note.at": STAFF,
    "backoffice.Proposal.closed_at": EVIDENCE,
    "backoffice.Proposal.proposed_at": STAFF,
    "claims.Claim.approved_at": "compared with content_changed_at alone, which stays as well",
    "claims.Claim.content_changed_at": "compared with approved_at alone, which stays as well",
    "claims.Claim.created_at": SHOWN,
    "claims.Claim.deleted_at": SHOWN,
    "claims.Claim.revoked_at": SHOWN,
    "claims.ClaimHistory.changed_at": EVIDENCE,
    "credit.Acceptance.accepted_at": EVIDENCE,
    "credit.Application.created_at": "says to whom it was sent: who used the provider's id by then",
    "credit.ApplicationHistory.changed_at": EVIDENCE,
    "credit.ApplicationRevision.changed_at": EVIDENCE,
    "credit.DecisionAnchor.anchored_at": EVIDENCE,
    "credit.DocumentFile.received_at": EVIDENCE,
    "credit.ModelVersion.created_at": SHOWN,
    "credit.ModelVersion.published_at": SHOWN,
    "credit.ModelVersion.updated_at": SHOWN,
    "credit.ModelVersionHistory.changed_at": EVIDENCE,
    "credit.Offer.created_at": SHOWN,
    "credit.Offer.updated_at": SHOWN,
    "credit.Provider.created_at": "compared with when applications of others were made",
    "credit.RequestedDocument.accepted_at": SHOWN,
    "credit.RequestedDocument.received_at": SHOWN,
    "credit.RequestedDocument.requested_at": "compared with when files were handed in, which is evidence",
    "credit.Score.created_at": EVIDENCE,
    "credit.ScoringModel.created_at": SHOWN,
    "credit.StoredFile.begun_at": "is nobody's before it is kept",
    "identity.ApiKey.expiry_announced_at": "only says that it was announced",
    "identity.ApiKey.revoked_at": "lies in the past already",
    "identity.BankAccount.created_at": SHOWN,
    "identity.BankAccount.updated_at": SHOWN,
    "identity.BankItem.accounts_staged_at": "only says that they were staged",
    "identity.BankItem.linked_at": SHOWN,
    "identity.BankItem.updated_at": SHOWN,
    "identity.BankTransaction.created_at": SHOWN,
    "identity.BankTransaction.date": "the bank's word, by which it tells the same booking again",
    "identity.BankTransaction.updated_at": SHOWN,
    "identity.KycVerificationHistory.changed_at": EVIDENCE,
    "identity.OAuthClient.cimd_expires_at": SERVER,
    "identity.OAuthClient.created": SERVER,
    "identity.OAuthClient.updated": SERVER,
    "identity.RefreshToken.created_at": SHOWN,
    "identity.RefreshToken.used_at": "only says that it was used",
    "identity.SandboxItem.created_at": SANDBOX,
    "identity.SandboxItem.removed_at": SANDBOX,
    "identity.SandboxVerification.completed_at": SANDBOX,
    "identity.SandboxVerification.created_at": SANDBOX,
    "identity.SigningKey.created_at": SERVER,
    "identity.SigningKey.retires_at": SERVER,
    "identity.SigningKey.signs_from": SERVER,
    "identity.TokenFamily.created_at": "compared with the password's moment, which stays",
    "identity.TokenFamily.revoked_at": "only says that it was revoked",
    "identity.UsedSignature.expires_at": "ends with the timestamp that was signed, in real time",
    "identity.User.credentials_changed_at": "log-ins from before it would come alive",
    "identity.User.last_login": SHOWN,
    "ledger.WitnessOutcome.since": LEDGER,
    "oauth2_provider.AccessToken.created": OTHERS,
    "oauth2_provider.AccessToken.expires": OTHERS,
    "oauth2_provider.AccessToken.updated": OTHERS,
    "oauth2_provider.DeviceGrant.expires": OTHERS,
    "oauth2_provider.DeviceGrant.last_checked": OTHERS,
    "oauth2_provider.Grant.created": OTHERS,
    "oauth2_provider.Grant.updated": OTHERS,
    "oauth2_provider.IDToken.created": OTHERS,
    "oauth2_provider.IDToken.expires": OTHERS,
    "oauth2_provider.IDToken.updated": OTHERS,
    "oauth2_provider.RefreshToken.created": OTHERS,
    "oauth2_provider.RefreshToken.revoked": OTHERS,
    "oauth2_provider.RefreshToken.updated": OTHERS,
    "payments.CryptoPayment.created_at": SHOWN,
    "payments.CryptoPayment.settled_at": SHOWN,
    "payments.CryptoPayment.submitted_at": SHOWN,
    "payments.CryptoPaymentHistory.changed_at": EVIDENCE,
    "payments.CryptoTransaction.given_at": EVIDENCE,
    "payments.CustodyAccount.provisioned_at": SHOWN,
    "payments.CustodyAccount.requested_at": SHOWN,
    "payments.Payment.processed_at": SHOWN,
    "payments.PaymentAttempt.at": EVIDENCE,
    "payments.PaymentMethod.created_at": SHOWN,
    "payments.ProcessorEvent.applied_at": EVIDENCE,
    "payments.ProcessorEvent.received_at": "whose it is, is known once its payment is there",
    "payments.SandboxCharge.created_at": SANDBOX,
    "payments.Wallet.connected_at": SHOWN,
    "payments.Wallet.disconnected_at": SHOWN,
    "sessions.Session.expire_date": "does not say whose it is",
    "staging.Note.created_at": SHOWN,
    "staging.StagedItem.decided_at": SHOWN,
    "webhooks.Endpoint.created_at": SHOWN,
    "webhooks.Endpoint.deleted_at": "only says that it was deleted",
    "webhooks.Endpoint.updated_at": SHOWN,
    "webhooks.Event.created_at": "is part of what receivers were told",
}


def moments(model):
    """Return the names of a table's columns that hold a moment or a day."""
    return [field.name for field in model._meta.local_fields if isinstance(field, models.DateField)]


def test_every_moment_moves_with_its_accounts_clock_or_stays_for_a_reason():
    moving = {f"{model._meta.label}.{column}" for model, timer in timers.timers.items() for column in timer.columns}
    every = {f"{model._meta.label}.{name}" for model in apps.get_models() for name in moments(model)}
    assert moving <= every
    assert every - moving == set(KEPT)


@pytest.mark.django_db
@pytest.mark.parametrize("model", timers.timers, ids=lambda model: model._meta.label)
def test_every_look_up_leads_to_an_account(model, user):
    assert not model._default_manager.filter(timers.timers[model].of(user.pk), pk=None).exists()


@pytest.mark.django_db
def test_a_row_moves_by_exactly_so_much_and_what_has_no_moment_has_none_afterwards(user, stranger):
    moved, other = ApplicationFactory(consumer=user), ApplicationFactory(consumer=stranger)
    by = timedelta(days=1, microseconds=7)
    timers.move(user.pk, by)
    assert moved.updated_at - Application.objects.get(pk=moved.pk).updated_at == by
    assert Application.objects.get(pk=other.pk).updated_at == other.updated_at
    assert Application.objects.get(pk=moved.pk).submitted_at is None
    user.refresh_from_db()
    assert timezone.now() - user.date_joined >= by
