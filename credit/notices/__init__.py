"""Adverse action and other notices to applicants: clocks, notices, deliveries, and reconsideration.

A `Clock` runs from a complete submission until the notification of the applicant. A `Notice` is owed by a decision, a
counteroffer or a request for documents (`due`), made by `issue_notices` (`ready`: frozen, hashed, anchored), and over
once it is `delivered`; it may have `failed`, or be `cancelled` by what happened before it was delivered. A
`ReviewRequest` of the consumer is completed by the next decision, by another person than the first one. The events are
`notice.ready`, `.delivered` and `.overdue`, `application.review_requested` and `.review_answered`.

The rules are those of 12 CFR 1002.9 (Regulation B) and 15 USC 1681m(a), or for `NOTICE_PROFILE=eu` of Directive (EU)
2023/2225 and GDPR Art. 22, as far as a program can follow them: whether a notice does what the law asks is for the
operator's counsel to say.
"""
