"""The scopes of the specification (section 5, item 6) and of the platform, with the texts of the consent page.

Scopes that permit reading precede scopes that permit writing. A client that requests no scope gets the first read scope
that is available to the client.
"""

SCOPES = {
    "offers:read": "See offers, and the members of lenders you work for",
    "identity:read": "See your identity checks and their results",
    "wallet:read": "See your crypto wallets and their balances",
    "score:read": "See your scores, and scoring at lenders you work for",
    "applications:read": "See your applications, and those to lenders you work for",
    "bankdata:read": "See your linked bank accounts: their balances and all transactions",
    "offers:write": "Create, change, and deactivate your offers as a lender",
    "identity:write": "Start a check of your identity",
    "score:write": "Create, publish, and retire scoring models in your name",
    "applications:write": (
        "Apply for credit in your name, withdraw applications, accept and decline offers, and show lenders the bank "
        "accounts and identity checks that it can see"
    ),
    "bankdata:write": "Link and unlink your bank accounts",
    "accounts:write": "Partners only: create, see, and disable customers' accounts",
    "webhooks": "Get events about your account: only type and new status",
}
# Scopes that can bind the account's owner to a contract. The consent page highlights them.
BINDING = ("applications:write",)

# A partner's token on behalf of a managed account can only read and apply.
ACTING_SCOPES = (
    "offers:read", "identity:read", "wallet:read", "applications:read", "bankdata:read", "identity:write",
    "applications:write", "bankdata:write",
)  # fmt: skip

# The actions of each area. An app without any scope of the area can't perform them.
_AREAS = {
    "identity": "see or start checks of your identity",
    "bankdata": "see your bank accounts or their transactions",
    "applications": "see your credit applications, or apply in your name",
    "wallet": "see your wallets",
}
_NEVER = (
    "see or change your password",
    "pay, or move your money",
    "decide any application",
    "approve items that wait for your approval",
)


def refused_with(scopes: list[str]) -> list[str]:
    """Return descriptions of the actions that these scopes don't permit."""
    areas = {scope.partition(":")[0] for scope in scopes}
    return [words for area, words in _AREAS.items() if area not in areas] + list(_NEVER)
