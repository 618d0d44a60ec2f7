from credit.models.acceptance import Acceptance, ApplicationRevision, ContractWithdrawal
from credit.models.anchoring import DecisionAnchor, RecordKey
from credit.models.applications import Application, ApplicationHistory
from credit.models.corrections import Confirmation, Correction
from credit.models.documents import DocumentFile, RequestedDocument, StoredFile
from credit.models.notices import Clock, Consent, Delivery, Notice, NoticeHistory, RetentionHold, ReviewRequest
from credit.models.offers import Offer, Provider, ProviderInvitation, ProviderLogo, ProviderMember
from credit.models.partial_applicants import PartialApplicants
from credit.models.person_keys import Applicant, PersonKey, identity_of, person_figures
from credit.models.reports import Report
from credit.models.review import Proposal
from credit.models.scoring import LastScore, ModelVersion, ModelVersionHistory, Score, ScoreFacts, ScoringModel
from credit.models.terms import Counteroffer, LoanTerms, Precontract

__all__ = [
    "Acceptance", "Applicant", "Application", "ApplicationHistory", "ApplicationRevision", "Clock", "Confirmation",
    "Consent", "ContractWithdrawal", "Correction", "Counteroffer", "DecisionAnchor", "Delivery", "DocumentFile",
    "LastScore", "LoanTerms", "ModelVersion", "ModelVersionHistory", "Notice", "NoticeHistory", "Offer",
    "PartialApplicants", "PersonKey", "Precontract", "Proposal", "Provider", "ProviderInvitation", "ProviderLogo",
    "ProviderMember", "RecordKey", "Report", "RequestedDocument", "RetentionHold", "ReviewRequest", "Score",
    "ScoreFacts", "ScoringModel", "StoredFile", "identity_of", "person_figures",
]  # fmt: skip
