"""Forgetting a person: the one change that an entry may undergo."""

from ledger.models import Entry


def erase_subject(user_id: str) -> int:
    """Delete nonce and metadata of every entry of this user; how many entries that were.

    The tree keeps the report's hash and a commitment that nobody can open any more, so every proof stays
    valid and `verify_ledger` accepts the entry. The database allows this change and no other.
    """
    return Entry.objects.filter(user_id=user_id).update(nonce=None, user_id=None, report_type=None)
