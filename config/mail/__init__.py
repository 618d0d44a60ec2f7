"""Outgoing mail. `outbox` queues a mail in the transaction that causes it, and `deliver_mail` sends it.

A mail contains a link. A mail about an application also contains its lender, reference, and amount. No mail contains
reasons or other personal data. The recipient and the content are encrypted. After delivery, the content is deleted.
"""
