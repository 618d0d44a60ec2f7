"""The scopes of the specification (section 5, item 6) and of the platform, with the texts of the consent page.

Scopes that permit reading precede scopes that permit writing. A client that requests no scope gets the first read scope
that is available to the client.
"""

SCOPES = {
    "offers:read": (
        "See the offers of lenders on this marketplace. If you are a member of a lender, also see its members"
    ),
    "identity:read": "See your identity checks and their results",
    "wallet:read": "See your crypto wallets and their balances",
    "score:read": (
        "See your credit scores and the data that they use. If you are a member of a lender, also see its scoring "
        "models, and the scores of the applications that it received"
    ),
    "applications:read": (
        "See your credit applications: their data, status, and decisions. If you are a member of a lender, also "
        "see the applications that it received"
    ),
    "bankdata:read": "See your linked bank accounts: their balances and all transactions",
    "offers:write": "Create, change, and deactivate offers in your name, as a lender",
    "identity:write": "Start a check of your identity",
    "score:write": "Create scoring models in your name, and publish and retire their versions",
    "applications:write": (
        "Apply for credit on your behalf: create, change, submit, and withdraw applications, upload documents, "
        "accept or decline an approval or a counteroffer, request corrections and reconsideration, and withdraw from "
        "an agreement. It can share the bank accounts and identity checks that it can see itself with the lender"
    ),
    "bankdata:write": "Link and unlink your bank accounts",
    "accounts:write": (
        "Create, see, and disable accounts for your customers, if you are a partner. An API key can also act on their "
        "behalf: apply for credit in their name, and see their applications, bank accounts, and wallets"
    ),
    "webhooks": "Get events about your account: their type and the new status, without the contents",
}

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
