"""What a loan is: the terms that an approval or a counteroffer names, taking them up, and the agreement that follows.

`LoanTerms` never change. What a decision names is computed as of its day by the functions of a quote, held against the
pinned offer, and computed again on the day on which it is taken up. A counteroffer (`open`, then `accepted`,
`declined`, `withdrawn`, `expired` or `superseded`) is made by those who may decide, under `four_eyes` by two, and ended
by the consumer, by whoever may decide, by time (`expire_applications`) or by another decision. The events are
`application.counteroffered`, `.counteroffer_declined` and `.counteroffer_expired`.
"""
