"""The scopes (specification section 5, item 6, and ours), with the texts of the consent page.

They are ordered from the least to the most that an app learns or does, reading before writing. A client that names no
scope gets the first reading one that it may have.
"""

SCOPES = {
    "offers:read": "See the offers of lenders on this marketplace",
    "identity:read": "See whether your identity was checked, and how it ended",
    "wallet:read": "See your crypto wallets and what is in them",
    "score:read": "See your credit scores and what they were worked out from",
    "applications:read": (
        "See your credit applications: what is in them, where they stand and what was decided. If you act for a lender,"
        " the same of those that people sent to it"
    ),
    "bankdata:read": "See your linked bank accounts: their balances, and every payment in and out",
    "offers:write": "Make and change offers in your name, as a lender",
    "identity:write": "Start a check of your identity",
    "score:write": "Make and change scoring models in your name",
    "applications:write": (
        "Apply for credit on your behalf: make, change, submit and withdraw applications, and accept an approval."
        " It can show the lender those of your bank accounts and identity checks that it may see itself"
    ),
    "bankdata:write": "Link a bank account of yours",
    "accounts:write": (
        "Make accounts for your customers, if you are a partner, and act for them: apply for credit in their name, and"
        " see their applications, bank accounts and wallets"
    ),
    "webhooks": "Be told whenever something happens in your account: what it was and how it stands, not what is in it",
}

# Scopes of a partner's token on behalf of a managed account: reading and applying only.
ACTING_SCOPES = (
    "offers:read", "identity:read", "wallet:read", "applications:read", "bankdata:read", "identity:write",
    "applications:write", "bankdata:write",
)  # fmt: skip

# Effects for an app that has no scope of the area.
_AREAS = {
    "identity": "see or start checks of your identity",
    "bankdata": "see your bank accounts, or what goes in and out of them",
    "applications": "see your credit applications, or apply in your name",
    "wallet": "see your wallets",
}
_NEVER = (
    "see or change your password",
    "pay, or move your money",
    "decide about an application, yours or anybody else's",
    "approve anything that waits for your approval",
)


def refused_with(scopes: list[str]) -> list[str]:
    """Return, in plain words, what a client with these scopes cannot do."""
    areas = {scope.partition(":")[0] for scope in scopes}
    return [words for area, words in _AREAS.items() if area not in areas] + list(_NEVER)
