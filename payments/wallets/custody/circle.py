"""Circle's developer-controlled wallets (Web3 Services).

`POST /v1/w3s/developer/wallets` creates an account with an idempotency key and a reference (`refId`) of the platform.
Circle does not document how long it stores a key, so a retry first searches for the reference. Circle has the private
keys of the accounts. The entity secret is the password of the platform's Circle account. Each request must contain the
secret, newly encrypted.
"""

import base64
import logging
import re
from hashlib import sha256
from typing import Any
from urllib.parse import quote
from uuid import UUID

from django.conf import settings

from config.clients.provider import ProviderError, call
from config.core.adapters import is_text
from payments.chain.addresses import parse_address

logger = logging.getLogger("platform.custody")

# Circle supports USDC on these networks. The values are Circle's network names.
BLOCKCHAINS = {
    "eip155:1": "ETH",
    "eip155:11155111": "ETH-SEPOLIA",
    "eip155:10": "OP",
    "eip155:11155420": "OP-SEPOLIA",
    "eip155:130": "UNI",
    "eip155:137": "MATIC",
    "eip155:80002": "MATIC-AMOY",
    "eip155:8453": "BASE",
    "eip155:84532": "BASE-SEPOLIA",
    "eip155:42161": "ARB",
    "eip155:421614": "ARB-SEPOLIA",
    "eip155:43114": "AVAX",
    "eip155:43113": "AVAX-FUJI",
}
_USDC_DECIMALS = 6
_DECIMALS_MAX = 36
_ID_MAX_LENGTH = 255
_AMOUNT = re.compile(r"([0-9]{1,60})(?:\.([0-9]{1,60}))?", re.ASCII)


class CircleCustody:
    name = "circle"

    def supports(self, network: str) -> bool:
        return network in BLOCKCHAINS

    def provision(self, *, reference: UUID, key: UUID, network: str, retried: bool) -> tuple[str, str]:
        if retried and (known := self._find(reference, network)):
            return known
        body: dict[str, Any] = {
            "idempotencyKey": str(key),
            "accountType": "EOA",
            "blockchains": [BLOCKCHAINS[network]],
            "count": 1,
            "walletSetId": settings.CIRCLE_WALLET_SET_ID or self._wallet_set(),
            "metadata": [{"refId": str(reference)}],
            **self._entity_secret(),
        }
        accounts = _accounts(self._call("POST", "/v1/w3s/developer/wallets", json=body), network)
        if len(accounts) != 1:
            raise ProviderError("unreadable", outcome_unknown=True)
        return accounts[0]

    def balance(self, account_id: str) -> tuple[int, int]:
        data = self._call(
            "GET", f"/v1/w3s/wallets/{quote(account_id, safe='')}/balances", params={"includeAll": "true"}
        )
        entries = data.get("tokenBalances")
        if not isinstance(entries, list):
            raise ProviderError("unreadable", outcome_unknown=False)
        for entry in entries:
            token = entry.get("token") if isinstance(entry, dict) else None
            if not isinstance(token, dict):
                raise ProviderError("unreadable", outcome_unknown=False)
            if token.get("symbol") == "USDC":
                return _balance(entry.get("amount"), token.get("decimals", _USDC_DECIMALS))
        return 0, _USDC_DECIMALS

    def _find(self, reference: UUID, network: str) -> tuple[str, str] | None:
        query = {"refId": str(reference), "blockchain": BLOCKCHAINS[network]}
        accounts = _accounts(self._call("GET", "/v1/w3s/wallets", params=query), network)
        return accounts[0] if accounts else None

    def _wallet_set(self) -> str:
        """Return the ID of the platform's wallet set.

        The idempotency key depends only on BASE_URL, so the platform has a single set.
        """
        body = {
            "idempotencyKey": str(
                UUID(bytes=sha256(b"wallet-set:" + settings.BASE_URL.encode()).digest()[:16], version=4)
            ),
            "name": settings.PROVIDER_NAME,
            **self._entity_secret(),
        }
        wallet_set = self._call("POST", "/v1/w3s/developer/walletSets", json=body).get("walletSet")
        if not isinstance(wallet_set, dict) or not is_text(wallet_set.get("id"), _ID_MAX_LENGTH):
            raise ProviderError("unreadable", outcome_unknown=True)
        return str(wallet_set["id"])

    def _entity_secret(self) -> dict[str, str]:
        """Return the encrypted entity secret as a request field. Empty if no secret is configured."""
        if not settings.CIRCLE_ENTITY_SECRET:
            return {}
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import padding, rsa

        published = self._call("GET", "/v1/w3s/config/entity/publicKey").get("publicKey")
        padder = padding.OAEP(mgf=padding.MGF1(hashes.SHA256()), algorithm=hashes.SHA256(), label=None)
        try:
            public = serialization.load_pem_public_key(str(published).encode())
            if not isinstance(public, rsa.RSAPublicKey):
                raise ProviderError("unreadable", outcome_unknown=False)
            enciphered = public.encrypt(bytes.fromhex(settings.CIRCLE_ENTITY_SECRET), padder)
        except (ValueError, UnsupportedAlgorithm) as error:  # a key that is too short raises ValueError
            raise ProviderError("unreadable", outcome_unknown=False) from error
        return {"entitySecretCiphertext": base64.b64encode(enciphered).decode()}

    def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        credential = {"Authorization": f"Bearer {settings.CIRCLE_API_KEY}"}
        answer = call(method, f"{settings.CIRCLE_BASE_URL}{path}", headers=credential, **options)
        content = answer.json()
        if answer.status not in {200, 201}:
            code = content.get("code") if isinstance(content, dict) else None
            logger.error("custody vendor returned %s, code %s, for %s %s", answer.status, code, method, path)
            raise ProviderError("refused", outcome_unknown=answer.status >= 500)
        data = content.get("data") if isinstance(content, dict) else None
        if not isinstance(data, dict):
            raise ProviderError("unreadable", outcome_unknown=True)
        return data


def _accounts(data: dict[str, Any], network: str) -> list[tuple[str, str]]:
    wallets = data.get("wallets")
    if not isinstance(wallets, list):
        raise ProviderError("unreadable", outcome_unknown=True)
    accounts = []
    for wallet in wallets:
        address = parse_address(str(wallet.get("address"))) if isinstance(wallet, dict) else None
        if address is None or not is_text(wallet.get("id"), _ID_MAX_LENGTH):
            raise ProviderError("unreadable", outcome_unknown=True)
        if wallet.get("blockchain") == BLOCKCHAINS[network]:
            accounts.append((wallet["id"], address))
    return accounts


def _balance(amount: Any, decimals: Any) -> tuple[int, int]:
    """Convert a decimal string to smallest units, without rounding. Raises ProviderError for fractions of a unit."""
    match = _AMOUNT.fullmatch(amount) if isinstance(amount, str) else None
    if match is None or type(decimals) is not int or not 0 <= decimals <= _DECIMALS_MAX:
        raise ProviderError("unreadable", outcome_unknown=False)
    fraction = (match[2] or "").rstrip("0")
    if len(fraction) > decimals:
        raise ProviderError("unreadable", outcome_unknown=False)
    return int(match[1] + fraction.ljust(decimals, "0")), decimals
