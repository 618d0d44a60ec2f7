"""Adverse action and other notices to applicants: clocks, notices, deliveries, and reconsideration.

A `Clock` runs from a complete submission until the applicant is notified. A decision, a counteroffer, or a request for
documents creates a `Notice` with the status `due`. The command `issue_notices` freezes, hashes, and anchors the text,
and changes the status to `ready`. Later, the status becomes `delivered` or `failed`. If a change makes the notice
obsolete before its delivery, the status becomes `cancelled`. The next decision, by another reviewer, closes a
`ReviewRequest`.
Events: `notice.ready`, `notice.delivered`, `notice.overdue`, `application.review_requested`, and
`application.review_answered`.

The rules implement 12 CFR 1002.9 (Regulation B) and 15 USC 1681m(a), as far as a program can. For offers with
`jurisdiction` `eu`, they implement Directive (EU) 2023/2225 and GDPR Art. 22. The operator's counsel decides whether a
notice complies.
"""
