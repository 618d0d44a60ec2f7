"""Re-encrypt every encrypted column."""

from typing import Any

from config.api.commands import JsonCommand
from config.encryption import encrypt_again


class Command(JsonCommand):
    """Encrypt everything with the first of FIELD_ENCRYPTION_KEYS."""

    help = "Re-encrypt every encrypted value with the first key of FIELD_ENCRYPTION_KEYS. Safe while traffic runs."

    def run(self, **_options: Any) -> dict[str, Any]:
        """Rewrite the values."""
        return {"rows": encrypt_again()}
