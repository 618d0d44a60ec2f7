"""Loans: the terms of an approval or a counteroffer, their acceptance, and the resulting agreement.

`LoanTerms` never change. The terms of a decision are computed for its day with the functions of a quote, and compared
with the pinned offer. They are computed again on the day of the acceptance. Reviewers make a counteroffer (`open`, then
`accepted`, `declined`, `withdrawn`, `expired`, or `superseded`); under `four_eyes`, two reviewers do. The consumer, a
reviewer, the deadline (`expire_applications`), or another decision ends it. The events are
`application.counteroffered`, `.counteroffer_declined`, and `.counteroffer_expired`.
"""
