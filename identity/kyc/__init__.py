"""Identity verification: a person proves who they are to the open-banking provider, and we keep how it went.

    requires_input ─┬─> processing ─┬─> verified
                    ├─> expired     ├─> failed
                    └─> canceled    └─> pending_review ──> verified | failed   (a reviewer, with a reason)

`KycVerification.transition_to` is the only place that changes a status. The provider's result arrives in three ways (a
read of the status, the provider's webhook, the sandbox's page) and goes through `services.apply_state`.

Events: `kyc.verification.created`, `kyc.verification.updated`, `kyc.verification.revoked`.
"""
