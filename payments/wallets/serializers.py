from config.api import serializers
from payments.chain.serializers import AddressField, NetworkField
from payments.wallets.models import Wallet


class CircleWalletRequestSerializer(serializers.RequestSerializer):
    """A wallet to be held by the custody provider. `user_id`, when given, must be the caller's."""

    refuses_unknown = True
    user_id = serializers.FreeField(allow_null=True, default=None, help_text="Your own user_id; null is the same.")
    network = NetworkField(allow_null=True, default=None)
    label = serializers.TextField(
        max_length=serializers.ID_MAX_LENGTH, allow_null=True, default=None, help_text="Your label; null for none."
    )  # type: ignore[assignment]


class ReferenceWalletRequestSerializer(CircleWalletRequestSerializer):
    """A wallet that the person controls."""

    address = AddressField()


class WalletSerializer(serializers.ModelResponseSerializer):
    """A wallet."""

    account_id = serializers.TextField(help_text="CAIP-10")

    class Meta:
        model = Wallet
        fields = ["id", "kind", "address", "network", "account_id", "label", "status", "is_default", "connected_at"]


class WalletListSerializer(serializers.ResponseSerializer):
    """A person's connected wallets, oldest first."""

    wallets = WalletSerializer(many=True, help_text="The oldest first.")
    total = serializers.Int64Field()


class WalletConnectionSerializer(WalletSerializer):
    """How a wallet stands."""

    wallet_id = serializers.TextField(source="pk")
    custodial = serializers.FlagField(
        source="is_custodial", help_text="Whether a provider holds the keys; such a wallet cannot sign crypto payments."
    )

    class Meta(WalletSerializer.Meta):
        fields = ["wallet_id", "status", "kind", "account_id", "is_default", "custodial", "connected_at"]


class WalletBalanceSerializer(serializers.ResponseSerializer):
    """A wallet's balance of the settlement asset."""

    wallet_id = serializers.TextField()
    asset = serializers.TextField(help_text="The asset, such as `USDC`.")
    amount = serializers.TextField(allow_null=True, help_text="Exact decimal text.")
    decimals = serializers.Int64Field(help_text="How many digits the asset has behind the point.")
    amount_usdc = serializers.Int64Field(allow_null=True, help_text="The same in smallest units.")
    as_of = serializers.DateTimeField(help_text="When it was looked up (UTC).")
    source = serializers.OneOfField(
        ("sandbox", "circle", "chain", "simulated", "unavailable"),
        help_text="The source of the amounts; `unavailable` if no source answers now, and the amounts are null.",
    )  # type: ignore[assignment]
