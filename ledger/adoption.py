"""What an operator does about a guard file that is lost: say which head is the newest."""

from django.db import transaction

from ledger import guard, log, signing
from ledger.errors import GuardDamagedError, GuardMissingError
from ledger.models import database
from ledger.sealing import lock_and_read_heads


class NotTheHeadError(Exception):
    """The database's newest head is another one than the operator named."""


def adopt_head(size: int, root: bytes) -> log.Head:
    """Write the guard file for the head of `size` entries and `root`, which must be the database's newest; return it.

    Only a missing, an empty or a damaged guard is replaced: what a readable one says is not for a person to overrule.
    Safe to repeat. Raises NotTheHeadError, ForeignHeadError (another key or origin signed that head), LogBehindError
    (the guard remembers a head that the database lacks) or GuardOutOfReachError.
    """
    with transaction.atomic(using=database().alias), database().cursor() as cursor:
        head, _before = lock_and_read_heads(cursor, database().vendor)
        if (head.tree_size, head.root) != (size, root):
            raise NotTheHeadError
        signing.check_key(head)
        try:
            signing.check_guard(head, using=database().alias)
        except (GuardMissingError, GuardDamagedError):
            guard.replace(guard.Mark(size, root))
        else:
            guard.advance(guard.Mark(size, root))
    return head
