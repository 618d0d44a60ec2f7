"""Adverse action and other notices to applicants: clocks, notices, deliveries, and reconsideration.

A `Clock` runs from a complete submission until the applicant is notified. A decision, a counteroffer, or a request for
documents requires a `Notice`, which is then `due`. The command `issue_notices` creates the notice: it freezes, hashes,
and anchors the text, and the status becomes `ready`. After that, the notice is `delivered` or `failed`, or a change
before the delivery makes it `cancelled`. The next decision, which another person must make, closes a `ReviewRequest`.
The events are `notice.ready`, `notice.delivered`, `notice.overdue`, `application.review_requested`, and
`application.review_answered`.

The rules come from 12 CFR 1002.9 (Regulation B) and 15 USC 1681m(a), as far as a program can apply them. For offers
with `jurisdiction` `eu`, they come from Directive (EU) 2023/2225 and GDPR Art. 22. The operator's counsel decides
whether a notice complies.
"""
