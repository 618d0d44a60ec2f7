"""What becomes of each reference to an account when it is reset: of every table, so that a new one is thought about."""

from django.apps import apps
from django.contrib.auth import get_user_model

from config.sandbox import reset

WHO_ACTED = "says who did it, which stays true"
EVIDENCE = "never changes"
STAFF = "is about the work of staff"
LOG_IN = "keys and log-ins stay"
OTHERS = "others go by it"
LIBRARY = "a table of a library that nothing of ours fills"
TASK = "a task of its app's does it"

KEPT = {
    "admin.LogEntry.user": EVIDENCE,
    "api.IdempotencyRecord.owner": "is deleted",
    "backoffice.Assignment.assigned_by": STAFF,
    "backoffice.Assignment.assignee": STAFF,
    "backoffice.Authenticator.user": LOG_IN,
    "backoffice.DataAccess.subject": EVIDENCE,
    "backoffice.DataAccess.viewer": EVIDENCE,
    "backoffice.Note.author": STAFF,
    "backoffice.Note.mentioned": STAFF,
    "backoffice.Proposal.closed_by": WHO_ACTED,
    "backoffice.Proposal.proposed_by": WHO_ACTED,
    "backoffice.SavedView.owner": STAFF,
    "claims.Claim.deleted_by": WHO_ACTED,
    "claims.Claim.user": TASK,
    "claims.ClaimHistory.principal": EVIDENCE,
    "credit.Acceptance.principal": EVIDENCE,
    "credit.Application.data_changed_by": WHO_ACTED,
    "credit.ApplicationHistory.principal": EVIDENCE,
    "credit.ApplicationRevision.principal": EVIDENCE,
    "credit.DocumentFile.principal": EVIDENCE,
    "credit.ModelVersion.made_by": EVIDENCE,
    "credit.ModelVersion.published_by": OTHERS,
    "credit.ModelVersionHistory.principal": EVIDENCE,
    "credit.Offer.owner": OTHERS,
    "credit.Provider.owner": OTHERS,
    "credit.ProviderMember.user": OTHERS,
    "credit.RequestedDocument.changed_by": WHO_ACTED,
    "credit.Score.user": EVIDENCE,
    "credit.ScoringModel.created_by": OTHERS,
    "identity.ApiKey.owner": LOG_IN,
    "identity.KycVerification.user": TASK,
    "identity.KycVerificationHistory.principal": EVIDENCE,
    "identity.OAuthClient.user": "is the server's",
    "identity.TokenFamily.user": LOG_IN,
    "oauth2_provider.AccessToken.user": LIBRARY,
    "oauth2_provider.DeviceGrant.user": LIBRARY,
    "oauth2_provider.Grant.user": LOG_IN,
    "oauth2_provider.IDToken.user": LIBRARY,
    "oauth2_provider.RefreshToken.user": LIBRARY,
    "payments.CryptoPayment.user": TASK,
    "payments.CryptoPaymentHistory.principal": EVIDENCE,
    "payments.CustodyAccount.user": "who connects again finds what it holds",
    "payments.Payment.user": TASK,
    "staging.StagedItem.decided_by": WHO_ACTED,
    "webhooks.Delivery.account": TASK,
    "webhooks.Endpoint.account": TASK,
    "webhooks.Event.account": TASK,
    "webhooks.EventFeed.account": "begins anew",
}


def test_every_reference_to_an_account_is_handed_over_or_stays_for_a_reason():
    account = get_user_model()
    references = {
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.local_fields
        if field.related_model is account
    }
    handed_over = {f"{model._meta.label}.{owner.removesuffix('_id')}" for model, owner in reset.owned.items()}
    assert handed_over <= references
    assert references - handed_over == set(KEPT)
