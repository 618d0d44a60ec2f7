"""The console's main links to lists of credit."""

from config.backoffice.navigation import ConsolePage
from credit.console.people import PAGE as PEOPLE

PAGES = (
    ConsolePage("credit.application", "Applications", 10, for_lenders="Applications"),
    PEOPLE,
    ConsolePage("credit.offer", "", 30, for_lenders="Offers"),
    ConsolePage("credit.provider", "Lenders", 40, for_lenders="Team"),
    ConsolePage("credit.scoringmodel", "Scoring", 50),
)
