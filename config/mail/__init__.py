"""Mail to people: a row in the transaction of what causes it (`outbox`), carried by `deliver_mail` (`delivery`).

States: pending, sent, failed. Mail carries links, never reasons, amounts or personal data. Whom it goes to and what it
says is encrypted, and what it says is forgotten once it is sent. The API does not show mails.
"""
