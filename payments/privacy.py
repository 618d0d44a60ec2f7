"""The personal data in the tables of this app. `config.core.privacy` describes the format."""

from config.core.privacy import REPLACE, Keep, about_staff, none, personal, table

MONEY = Keep("money_in_flight", "payments in progress: until they end")

TABLES = {
    "payments.Payment": table(
        personal("description", keep=MONEY),
        personal("method_token", erase=REPLACE, secret=True, keep=MONEY),
        personal("payment_method_id", erase=REPLACE, masked=False, keep=MONEY),
        personal("provider_account_id", masked=False, keep=MONEY),
        none(
            "id", "user", "amount_cents", "fee_amount_cents", "currency", "processor", "processor_key",
            "idempotency_key", "status", "transaction_id", "failure", "refunded_cents", "disputed", "epoch", "due_at",
            "server_errors", "unanswered_since", "created_at", "processed_at",
        ),
        subject="user", purpose="payments by card", recipients="the card processor",
    ),
    "payments.PaymentAttempt": table(
        personal("detail", masked=False, keep=MONEY),
        none("id", "payment", "epoch", "action", "outcome", "at"),
        subject="payment__user", purpose="payments by card",
    ),
    "payments.ProcessorEvent": table(
        personal("detail", erase=REPLACE, masked=False, keep=MONEY),
        none("id", "type", "payment", "received_at", "applied_at"),
        subject="payment__user", purpose="payments by card",
    ),
    "payments.SandboxCharge": table(
        none("key", "payment_id", "transaction_id", "amount_cents", "currency", "created_at"),
    ),
    "payments.PaymentMethod": table(
        personal("account_token", erase=REPLACE, secret=True, keep=MONEY),
        personal("account_hint", erase=REPLACE, masked=False, keep=MONEY),
        none("id", "user", "processor_type", "is_default", "is_active", "created_at"),
        subject="user", purpose="stored cards", recipients="the card processor",
    ),
    "payments.CryptoPayment": table(
        personal("description", keep=MONEY),
        personal("from_address", "to_address", erase=REPLACE, masked=False, keep=MONEY),
        none(
            "moves", "updated_at", "id", "user", "wallet", "simulated", "network", "token_address", "amount_usdc",
            "first_nonce", "status", "tx_hash", "block_number", "failure", "expires_at", "look_at", "submitted_at",
            "settled_at", "created_at",
        ),
        subject="user", purpose="payments in stablecoins", recipients="the public network of the payment",
    ),
    "payments.CryptoTransaction": table(
        personal("raw", erase=REPLACE, masked=False, keep=MONEY),
        none("id", "payment", "tx_hash", "nonce", "given_at"),
        subject="payment__user", purpose="payments in stablecoins",
    ),
    "payments.CryptoPaymentHistory": table(
        personal("reason", "metadata", keep=MONEY),
        about_staff("changed_by", "principal", "credential"),
        none("id", "position", "status", "previous_status", "changed_at", "payment"),
        subject="payment__user", purpose="payments in stablecoins",
    ),
    "payments.CustodyAccount": table(
        personal("label", erase=REPLACE, keep=MONEY),
        personal("provider_account_id", "address", "provisioned_at", masked=False, keep=MONEY),
        none("id", "user", "provider", "network", "idempotency_key", "requested_at"),
        subject="user", purpose="wallets in custody",
    ),
    "payments.Wallet": table(
        personal("label", keep=MONEY),
        personal("address", erase=REPLACE, masked=False, keep=MONEY),
        none(
            "id", "user", "kind", "network", "custody_account", "status", "is_default", "connected_at",
            "disconnected_at",
        ),
        subject="user", purpose="wallets",
    ),
}  # fmt: skip
