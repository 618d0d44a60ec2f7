"""Outgoing mail: queued in the transaction of its cause (`outbox`), and sent by `deliver_mail` (`delivery`).

Statuses: pending, sent, failed. Mail contains links, never reasons, amounts or personal data. The recipient and the
content are encrypted, and the content is deleted after the mail was sent. The API does not return mails.
"""
