"""The personal data in the tables of this app. `config.core.privacy` describes the format."""

from config.core.privacy import LEGITIMATE_INTEREST, none, personal, table

TABLES = {
    "ledger.Block": table(
        none("number", "tree_size", "root", "previous", "timestamp", "block_hash", "frontier", "checkpoint"),
    ),
    "ledger.Entry": table(
        personal("user_id", "report_type", masked=False),
        personal("nonce", secret=True),
        none("index", "leaf_hash", "hash", "commitment", "block"),
        subject="user_id",
        purpose="anchored reports",
        ground=LEGITIMATE_INTEREST,
        by_value=True,
    ),
    "ledger.Tile": table(
        none("level", "index", "hashes"),
    ),
    "ledger.Cosignature": table(
        none("block", "witness", "timestamp", "signature"),
    ),
    "ledger.WitnessOutcome": table(
        none("witness", "outcome", "since"),
    ),
}  # fmt: skip
