from datetime import datetime
from functools import cached_property

from django.core.exceptions import ImproperlyConfigured

from config.ops.commands import WorkerCommand
from ledger import witnessing


class Command(WorkerCommand):
    """Request cosignatures.

    Run only one process of this command, because further processes would repeat the requests.
    """

    help = (
        "Request cosignatures of the newest checkpoint from the witnesses of WITNESS_POLICY, until SIGTERM or with "
        "--once."
    )
    fault = "{failed} witnesses did not cosign. The log has the reasons."
    # A growing log must not cause more than one run per second, because a later checkpoint covers earlier checkpoints.
    no_progress = frozenset({witnessing.COSIGNED, "failed"})

    @cached_property
    def _asker(self) -> witnessing.Asker:
        policy = witnessing.policy()
        if policy is None:
            raise ImproperlyConfigured("WITNESS_POLICY is missing: set it to a file with the log's witnesses.")
        return witnessing.Asker(policy)

    def work(self, *, now: datetime) -> dict[str, int]:
        return self._asker.ask(now=now)
