"""Identity verification: the open-banking vendor verifies a person, and the platform stores the progress and result.

    requires_input ─┬─> processing ─┬─> verified
                    ├─> expired     ├─> failed
                    └─> canceled    └─> pending_review ──> verified | failed   (a reviewer, with a reason)

`KycVerification.transition_to` is the only place that changes a status. The vendor's result arrives by a read of the
status, by the vendor's webhook, or from the sandbox's page. All three call `services.apply_state`.

Events: `kyc.verification.created`, `kyc.verification.updated`, `kyc.verification.revoked`.
"""
