"""Outgoing mail. `outbox` queues a mail in the transaction that causes it, and `deliver_mail` sends it.

The statuses are pending, sent, and failed. Mail contains links, but never reasons, amounts, or personal data. The
recipient and the content are encrypted, and the content is deleted after delivery. The API does not return mails.
"""
