"""Outgoing mail. `outbox` queues a mail in the transaction that causes it, and `deliver_mail` sends it.

The statuses are pending, sent, and failed. A mail contains a link. A mail about an application also contains its
lender, reference, and amount. No mail contains reasons or other personal data. The recipient and the content are
encrypted, and the content is deleted after delivery. The API does not return mails.
"""
