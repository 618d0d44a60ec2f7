from identity.bank.serializers import BankAccountPayload, BankTransactionPayload
from identity.bank.services import ACCOUNT_KIND, TRANSACTION_KIND, mark_payload, store_accounts, store_transactions
from staging.registry import Kind

KINDS = (
    Kind(ACCOUNT_KIND, payload=BankAccountPayload, store=store_accounts, attest=mark_payload),
    Kind(TRANSACTION_KIND, payload=BankTransactionPayload, store=store_transactions, attest=mark_payload),
)
