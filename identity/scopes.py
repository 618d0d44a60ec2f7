"""The scopes of specification section 5, item 6, in plain words: consent pages and key forms show these."""

SCOPES = {
    "identity:read": "Read identity verification status and credentials",
    "identity:write": "Start identity verifications",
    "score:read": "Read credit scores and model outputs",
    "score:write": "Create and update custom credit models",
    "offers:read": "Read offer matching data and marketplace information",
    "offers:write": "Create and manage offers",
    "wallet:read": "Read your self-custody wallet data",
    "webhooks": "Configure and manage webhook endpoints",
}
