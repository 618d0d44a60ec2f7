from collections.abc import Iterator
from datetime import UTC, datetime

from django.conf import settings

from config.ops.readings import Reading
from ledger import log, signing, witnessing
from ledger.models import Block, Cosignature, WitnessOutcome
from ledger.policy import Policy


def measure(*, using: str, now: datetime) -> Iterator[Reading]:
    head = log.read_head(using)
    yield Reading("platform_ledger_height", "Sealed blocks.", head.number)
    yield Reading("platform_ledger_entries", "Anchored entries: the size of the tree.", head.tree_size)
    sealed_at = datetime.fromisoformat(head.timestamp).replace(tzinfo=UTC) if head.timestamp else now
    age = max(0.0, (now - sealed_at).total_seconds())
    yield Reading("platform_ledger_last_block_seconds", "Age of the last block.", age)
    # The signing key is only checked on a machine that has it, because a machine can serve metrics without the key.
    has_key = bool(settings.LEDGER_SIGNING_KEY) or not settings.PRODUCTION
    yield Reading(
        "platform_ledger_may_sign",
        "1 when the guard file of this machine can be written and fits the database, and the signing key its head.",
        signing.may_sign(head, using=using, with_key=has_key),
    )
    policy = witnessing.policy()
    if policy is not None:
        yield from _witnesses(policy, using=using, now=now)


def _witnesses(policy: Policy, *, using: str, now: datetime) -> Iterator[Reading]:
    outcomes = dict(WitnessOutcome.objects.using(using).values_list("witness", "outcome"))
    meaning = "Seconds since this witness cosigned; absent if it never did."
    for witness in policy.witnesses:
        cosignatures = Cosignature.objects.using(using).filter(witness=witness.verifier.vkey).order_by("-timestamp")
        newest = cosignatures.values_list("timestamp", flat=True).first()
        if newest is not None:
            age = max(0.0, now.timestamp() - newest)
            yield Reading("platform_ledger_witness_cosigned_seconds", meaning, age, {"witness": witness.name})
    for witness in policy.witnesses:
        outcome = outcomes.get(witness.verifier.vkey, "")
        if outcome != witnessing.COSIGNED:
            labels = {"witness": witness.name, "outcome": outcome or "not_asked"}
            yield Reading("platform_ledger_witness_refuses", "1: it did not cosign when it was last asked.", 1, labels)


READING = (Block, measure)
