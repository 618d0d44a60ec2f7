from config.api import serializers
from payments.chain.addresses import has_no_owner
from payments.chain.serializers import AddressField, NetworkField
from payments.wallets.models import Wallet


class CircleWalletRequestSerializer(serializers.RequestSerializer):
    """A wallet with keys of the custody vendor. `user_id`, if present, must be the caller's ID."""

    refuses_unknown = True
    user_id = serializers.FreeField(**serializers.NULLABLE, help_text="Your own `user_id`. Null means your account.")
    network = NetworkField(**serializers.NULLABLE)
    label = serializers.TextField(
        max_length=serializers.ID_MAX_LENGTH, **serializers.NULLABLE, help_text="Your label; null if there is none."
    )  # type: ignore[assignment]


class ReferenceWalletRequestSerializer(CircleWalletRequestSerializer):
    """A wallet that the account's owner controls."""

    address = AddressField()

    def validate_address(self, address: str) -> str:
        if has_no_owner(address):
            raise serializers.ValidationError(
                "This is the zero address, a burn address, or a contract of the network. "
                "Send an address whose key you have."
            )
        return address


class WalletSerializer(serializers.ModelResponseSerializer):
    """A wallet."""

    account_id = serializers.TextField(help_text="The wallet's address as a CAIP-10 account id.")

    class Meta:
        model = Wallet
        fields = ["id", "kind", "address", "network", "account_id", "label", "status", "is_default", "connected_at"]


class WalletListSerializer(serializers.ResponseSerializer):
    """The account's connected wallets, oldest first."""

    wallets = WalletSerializer(many=True, help_text="The wallets, oldest first.")
    total = serializers.Int64Field(help_text="The number of connected wallets, including those after the first 1,000.")


class WalletConnectionSerializer(WalletSerializer):
    """The status of a wallet."""

    wallet_id = serializers.TextField(source="pk")
    custodial = serializers.FlagField(
        source="is_custodial",
        help_text="Whether the custody vendor controls the keys. If a vendor controls the keys, the wallet can't sign "
        "crypto payments.",
    )

    class Meta(WalletSerializer.Meta):
        fields = ["wallet_id", "status", "kind", "account_id", "is_default", "custodial", "connected_at"]


class WalletBalanceSerializer(serializers.ResponseSerializer):
    """A wallet's balance of the settlement asset."""

    wallet_id = serializers.TextField()
    asset = serializers.TextField(help_text="The asset, such as `USDC`.")
    amount = serializers.TextField(
        allow_null=True, help_text="The amount as an exact decimal string; null if `source` is `unavailable`."
    )
    decimals = serializers.Int64Field(help_text="The decimal places of the asset.")
    amount_usdc = serializers.Int64Field(
        allow_null=True,
        help_text="The amount in the smallest units of the asset; null if `source` is `unavailable`, and if it exceeds "
        "64 bits.",
    )
    as_of = serializers.DateTimeField(help_text="When the balance was requested (UTC).")
    source = serializers.OneOfField(
        ("sandbox", "circle", "chain", "simulated", "unavailable"),
        help_text="The source of the amounts. `sandbox` and `circle` are custody vendors. For a wallet of the kind "
        "`walletconnect`, the source is `simulated` if no chain is configured. The amounts are then 0. The source is "
        "`unavailable` if the platform does not read the wallet's network. The amounts are then null.",
    )  # type: ignore[assignment]
