"""Payments: fees, card payments, payment methods, wallets and non-custodial crypto payments."""
