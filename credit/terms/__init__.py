"""Loans: the terms of an approval or a counteroffer, their acceptance, and the resulting agreement.

`LoanTerms` never change. The terms of a decision are computed for the day of the decision, with the functions of a
quote, and checked against the pinned offer. On the day of the acceptance, they are computed again.

A reviewer makes a counteroffer. Under `four_eyes`, a second reviewer must confirm it. A counteroffer is `open`, then
`accepted`, `declined`, `withdrawn`, `expired`, or `superseded`. The applicant, a reviewer, the deadline
(`expire_applications`), or another decision closes a counteroffer. The events are `application.counteroffered`,
`.counteroffer_declined`, and `.counteroffer_expired`.
"""
