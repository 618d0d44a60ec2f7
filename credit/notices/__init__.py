"""Adverse action and other notices to applicants: clocks, notices, deliveries, and reconsideration.

A `Clock` runs from a complete submission until the applicant is notified. A decision, a counteroffer, or a request for
documents requires a `Notice` (`due`). `issue_notices` creates it (`ready`: frozen, hashed, anchored). It is then
`delivered`, `failed`, or `cancelled` by a change before its delivery. The next decision, by another person, answers a
consumer's `ReviewRequest`. The events are `notice.ready`, `.delivered`, and `.overdue`, `application.review_requested`,
and `.review_answered`.

The rules are those of 12 CFR 1002.9 (Regulation B) and 15 USC 1681m(a), as far as a program can apply them. For offers
with `jurisdiction` `eu` they are those of Directive (EU) 2023/2225 and GDPR Art. 22. The operator's counsel decides
whether a notice complies.
"""
