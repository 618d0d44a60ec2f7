"""Outgoing mail. `outbox` queues a mail in the transaction that causes it, and `deliver_mail` sends it.

The statuses are pending, sent, and failed. A mail contains a link, and about an application its lender,
reference, and amount. It contains no reasons and no other personal data. The recipient and the content are encrypted,
and the content is deleted after delivery. The API does not return mails.
"""
