"""Mail to people: a row in the transaction of its cause (`outbox`), sent by `deliver_mail` (`delivery`).

States: pending, sent, failed. Mail carries links, never reasons, amounts or personal data. The recipient and the
content are encrypted, and the content is deleted once it is sent. The API does not show mails.
"""
