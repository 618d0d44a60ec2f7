"""The Federal agencies that enforce Regulation B, by kind of creditor (appendix A to 12 CFR 1002, as of 2026)."""

from typing import Any

from django.conf import settings
from django.core import checks

# Each entry has a code, the kinds of creditors, and the agency's name and address in notices.
_LIST = (
    ("cfpb", "banks, savings associations, and credit unions with assets above $10 billion, and their affiliates",
     "Bureau of Consumer Financial Protection, 1700 G Street NW, Washington, DC 20552"),
    ("occ", "national banks, Federal savings associations, and Federal branches and agencies of foreign banks",
     "Office of the Comptroller of the Currency, Customer Assistance Group, P.O. Box 53570, Houston, TX 77052"),
    ("frb",
     ("State member banks, other branches and agencies of foreign banks, lending companies of foreign banks, and "
     "organizations under section 25 or 25A of the Federal Reserve Act"),
     "Federal Reserve Consumer Help Center, P.O. Box 1200, Minneapolis, MN 55480"),
    ("fdic",
     ("insured banks that aren't members of the Federal Reserve System, insured State branches of foreign banks, "
     "and insured State savings associations"),
     ("Division of Depositor and Consumer Protection, National Center for Consumer and Depositor Assistance, "
     "Federal Deposit Insurance Corporation, 1100 Walnut Street, Box #11, Kansas City, MO 64106")),
    ("ncua", "Federal credit unions",
     ("National Credit Union Administration, Office of Consumer Financial Protection, 1775 Duke Street, "
     "Alexandria, VA 22314")),
    ("dot", "air carriers",
     ("Assistant General Counsel for Office of Aviation Consumer Protection, Department of Transportation, "
     "1200 New Jersey Avenue SE, Washington, DC 20590")),
    ("stb", "creditors subject to the Surface Transportation Board",
     ("Office of Public Assistance, Governmental Affairs, and Compliance, Surface Transportation Board, "
     "395 E Street SW, Washington, DC 20423")),
    ("sba", "small business investment companies",
     ("Associate Deputy Administrator, Office of Capital Access, United States Small Business Administration, "
     "409 Third Street SW, Suite 8200, Washington, DC 20416")),
    ("sec", "brokers and dealers", "Securities and Exchange Commission, 100 F Street NE, Washington, DC 20549"),
    ("fca", "institutions of the Farm Credit System",
     "Farm Credit Administration, 1501 Farm Credit Drive, McLean, VA 22102-5090"),
    ("ftc", "retailers, finance companies, and all other creditors",
     "Federal Trade Commission, Consumer Response Center, 600 Pennsylvania Avenue NW, Washington, DC 20580"),
)  # fmt: skip
AGENCIES = {code: address for code, _, address in _LIST}
CHOICES = [(code, f"{code.upper()}: {creditors}") for code, creditors, _ in _LIST]


def agency_text(code: str | None) -> str:
    """Return an agency's name and address.

    If `code` is None, the setting NOTICE_AGENCY (a code or a full address) applies.
    """
    return AGENCIES.get(code or settings.NOTICE_AGENCY, settings.NOTICE_AGENCY)


def check_notice_agency(**_options: Any) -> list[checks.CheckMessage]:
    """Check that NOTICE_AGENCY is a code, or has several words.

    Otherwise, notices would print a misspelled code as the agency's name.
    """
    named = settings.NOTICE_AGENCY
    if named in AGENCIES or len(named.split()) > 1:
        return [checks.Info(agency_text(None))]
    codes = ", ".join(AGENCIES)
    return [checks.Error(f"NOTICE_AGENCY must be a code ({codes}) or the name and address of an agency.")]
