"""Import the models of the packages, because Django loads the models of an app from this module."""

from identity.access.consents import Consent
from identity.access.models import (
    AccountHistory,
    ApiKey,
    OAuthClient,
    RefreshToken,
    SigningKey,
    TokenFamily,
    UsedSignature,
    User,
)
from identity.accounts.models import (
    DeletionRequest,
    Erasure,
    Export,
    Invitation,
    ManagedAccount,
    OneTimeLink,
    RecoveryCode,
)
from identity.bank.models import BankAccount, BankItem, BankTransaction
from identity.kyc.models import KycVerification, KycVerificationHistory
from identity.oidc.models import IssuerSession, StaffIdentity
from identity.providers.models import SandboxItem, SandboxVerification

__all__ = [
    "AccountHistory", "ApiKey", "BankAccount", "BankItem", "BankTransaction", "Consent", "DeletionRequest", "Erasure",
    "Export", "Invitation", "IssuerSession", "KycVerification", "KycVerificationHistory", "ManagedAccount",
    "OAuthClient", "OneTimeLink", "RecoveryCode", "RefreshToken", "SandboxItem", "SandboxVerification", "SigningKey",
    "StaffIdentity", "TokenFamily", "UsedSignature", "User",
]  # fmt: skip
