"""Identity verification: the open-banking vendor verifies an applicant, and the platform stores the result.

    requires_input ─┬─> processing ─┬─> verified
                    ├─> expired     ├─> failed
                    └─> canceled    └─> pending_review ──> verified | failed   (a reviewer, with a reason)

Only `KycVerification.transition_to` changes a status. The vendor's result arrives with a status request, with the
vendor's webhook, or from the sandbox's page. In all three cases, `services.apply_state` applies the result.

Events: `kyc.verification.created`, `kyc.verification.updated`, `kyc.verification.revoked`.
"""
