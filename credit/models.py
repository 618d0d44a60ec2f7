"""The models of credit's rooms; Django finds them here."""

from credit.anchoring.models import DecisionAnchor, RecordKey
from credit.applications.models import Application, ApplicationHistory
from credit.applications.records import Acceptance, ApplicationRevision
from credit.documents.models import DocumentFile, RequestedDocument, StoredFile
from credit.notices.models import Clock, Consent, Delivery, Notice, NoticeHistory, ReviewRequest
from credit.offers.models import Offer, Provider, ProviderInvitation, ProviderMember
from credit.review.models import Proposal
from credit.scoring.models import LastScore, ModelVersion, ModelVersionHistory, Score, ScoreFacts, ScoringModel
from credit.terms.models import Counteroffer, LoanTerms

__all__ = [
    "Acceptance", "Application", "ApplicationHistory", "ApplicationRevision", "Clock", "Consent", "Counteroffer",
    "DecisionAnchor", "Delivery", "DocumentFile", "LastScore", "LoanTerms", "ModelVersion", "ModelVersionHistory",
    "Notice", "NoticeHistory", "Offer", "Proposal", "Provider", "ProviderInvitation", "ProviderMember", "RecordKey",
    "RequestedDocument", "ReviewRequest", "Score", "ScoreFacts", "ScoringModel", "StoredFile",
]  # fmt: skip
