"""The principal reasons for a rejection, from Regulation B's sample notification.

The list has the reasons of form C-1 in appendix C to 12 CFR 1002. It also has a reason for an unverified identity, and
a reason for inquiries that only the applicant stated. A rejected applicant must receive the principal reasons, most
important first. More than four reasons are not likely to help (comment 9(b)(2)-1). Codes never change, because the
audit log contains them.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext_noop

from config.core.names import shows_nothing

PRINCIPAL_MAX = 4

INCOMPLETE = "application_incomplete"
REASONS = {
    INCOMPLETE: "Credit application incomplete",
    "references_insufficient": "Insufficient number of credit references provided",
    "references_unacceptable": "Unacceptable type of credit references provided",
    "references_unverifiable": "Unable to verify credit references",
    "employment_irregular": "Temporary or irregular employment",
    "employment_unverifiable": "Unable to verify employment",
    "employment_short": "Length of employment",
    "income_insufficient": "Income insufficient for amount of credit requested",
    "obligations_excessive": "Excessive obligations in relation to income",
    "income_unverifiable": "Unable to verify income",
    "residence_short": "Length of residence",
    "residence_temporary": "Temporary residence",
    "residence_unverifiable": "Unable to verify residence",
    "identity_unverifiable": "Unable to verify identity",
    "no_credit_file": "No credit file",
    "credit_experience_limited": "Limited credit experience",
    "performance_poor": "Poor credit performance with us",
    "obligations_delinquent": "Delinquent past or present credit obligations with others",
    "collection_or_judgment": "Collection action or judgment",
    "garnishment_or_attachment": "Garnishment or attachment",
    "foreclosure_or_repossession": "Foreclosure or repossession",
    "bankruptcy": "Bankruptcy",
    "inquiries_recent": "Number of recent inquiries on credit bureau report",
    "inquiries_stated": "Number of recent applications for credit that you stated",
    "collateral_insufficient": "Value or type of collateral not sufficient",
}
OTHER = "other"
# A withdrawal has this reason code if the applicant declined the approved terms.
DECLINED_BY_APPLICANT = "declined_by_applicant"
# The default reason of an approval against the score's proposal. The internal reason is not for the applicant.
APPROVED_TEXT = gettext_noop("A reviewer approved the application.")
DECLINED_TEXT = gettext_noop("The applicant declined the approved terms.")
COUNTEROFFER_ACCEPTED_TEXT = gettext_noop("The counteroffer was accepted.")
IDLE_TEXT = gettext_noop("Idle for {days} days.")
# By 12 CFR 1002.9(b)(2), a score below a threshold is not a specific reason, and an internal standard is not either.
_SAYS_NOTHING = re.compile(
    r"internal\s+(standard|polic|guideline|criteri)|(fail|insufficient|too\s+low|low|qualifying).{0,30}\bscor(e|ing)\b"
    r"|\bscor(e|ing)\b.{0,30}(too\s+low|insufficient|below|not\s+(high|met|reached|enough))",
    re.IGNORECASE,
)
OTHER_TEXT_MAX = 120
# These reasons refer to a consumer report, so they require a decision that used a report.
OF_A_REPORT = frozenset({"inquiries_recent"})
# A reason is not specific if it consists only of these English and Spanish words, such as "Insufficient points" or
# "Does not meet credit policy". "Insufficient income" is specific.
_ENGLISH = """
a acceptable acceptance accepted ai algorithm algorithmic an analysis and any applicant applicants application approval
approve approved are as assessment at automated automatic bank based be because been below beneath business by
calculated calculation can cannot committee company computed computer could credit creditworthiness creditworthy
criteria criterion customer cut cutoff decision decisions declined decline denial denied did didn do does doesn don due
eligibility eligible engine enough evaluation fail failed failing fails failure for from general given good grade
guideline guidelines has have high higher if in ineligible institution insufficient internal is isn it its lack lacking
lacks lender lenders lending level levels loan low lower lowest machine made matrix may measure meet meeting meets met
minimum model models need needed needs neg negative no non none norm norms not of off on or other our out outcome
overall own parameters points policies policy poor procedure procedures process processing product profile program
qualification qualifications qualified qualify qualifying rank ranking rated rating reached reaching reason reasons
recommendation refused reject rejected rejection required requirement requirements result results review risk risky
rule rules s satisfied satisfy score scorecard scored scores scoring see software standard standards statistical such
system t than that the there they this threshold tier to too total unacceptable under underwriter underwriting
undesirable undisclosed unfavorable unqualified unsatisfactory unspecified unsuitable us various was wasn we were which
with within without worthy you your
"""
_SPANISH = """
al alcanza alcanzo algoritmo alta alto analisis aprobada aprobado aprobar automatica automatico baja bajas bajo bajos
banco calificacion como con credito criterio criterios cumple cumplen cumplir de debajo decision del demasiado denegada
denegado directrices el ella en es esta este evaluacion exigido exigidos falta general generales ha insuficiente
insuficientes interna internas interno internos la las llega lo los mas minima minimo minimos modelo motivo motivos
ningun ninguna no norma normas nota nuestra nuestras nuestro nuestros o otras otro otros para perfil politica politicas
por prestamo puntaje puntajes puntos puntuacion que rechazada rechazado rechazo regla reglas requisito requisitos
resultado riesgo se segun sin sistema solicitud solicitante su suficiente suficientes tarjeta umbral un una y
"""
_EMPTY_WORDS = frozenset((_ENGLISH + _SPANISH).split())

Reason = str | dict[str, str]


def reasons_of(metadata: Any) -> list[Reason]:
    """Return the principal reasons in `metadata.reasons`, most important first.

    If a reason is invalid, such as a text that refers only to a score or a standard, the result is empty.
    """
    reasons = named_reasons(metadata)
    return (
        [] if any(isinstance(reason, dict) and _SAYS_NOTHING.search(reason["text"]) for reason in reasons) else reasons
    )


def named_reasons(metadata: Any) -> list[Reason]:
    """Return the reasons in `metadata.reasons`. Only `faults_of` checks whether their texts refer to specific factors.

    Each reason is a code of REASONS or `{"code": "other", "text": …}`. The text has at most OTHER_TEXT_MAX characters.
    If a reason is invalid or repeated, or if there are more than PRINCIPAL_MAX reasons, the result is empty.
    """
    reasons = metadata.get("reasons") if isinstance(metadata, dict) else None
    if not isinstance(reasons, list) or not 1 <= len(reasons) <= PRINCIPAL_MAX or not all(map(_is_reason, reasons)):
        return []
    return reasons if len(set(map(text_of, reasons))) == len(reasons) else []


def _is_reason(reason: Any) -> bool:
    if isinstance(reason, dict):
        text = reason.get("text")
        is_text = isinstance(text, str) and len(text) <= OTHER_TEXT_MAX and not shows_nothing(text)
        return reason.keys() == {"code", "text"} and reason["code"] == OTHER and is_text
    return isinstance(reason, str) and reason in REASONS


def faults_of(reasons: Sequence[Reason], *, has_report: bool) -> list[str]:
    """Return a message for each invalid reason, with the error and a valid alternative.

    A text must refer to a specific factor (12 CFR 1002.9(b)(2)). Codes that refer to a consumer report require a
    report.
    """
    faults = []
    for position, reason in enumerate(reasons):
        if isinstance(reason, dict) and names_no_factor(reason["text"]):
            faults.append(
                f'`reasons[{position}]` has no specific factor: "{reason["text"]}". Name what was insufficient, such '
                "as income, length of employment, or collateral."
            )
        elif isinstance(reason, str) and reason in OF_A_REPORT and not has_report:
            faults.append(
                f"`reasons[{position}]`, `{reason}`, refers to a consumer report. Send `report_ids` as well, or "
                "another code, such as `inquiries_stated`."
            )
    return faults


def names_no_factor(text: str) -> bool:
    """Return whether a text is empty, or consists only of words about scores, standards, and decisions.

    The result is also True if a part of the text refers to a low score or an internal standard.
    """
    if _SAYS_NOTHING.search(text):
        return True
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(sign))
    words = re.findall(r"[^\W\d_]+", plain)
    return all((len(word) == 1 and word.isascii()) or word in _EMPTY_WORDS for word in words)


def key_of(reason: Reason) -> str:
    """Return the key that identifies a reason: the code, or the text of `other`. A text never equals a code."""
    return reason if isinstance(reason, str) else reason["text"]


def text_of(reason: Reason) -> str:
    """Return a reason's text, or the stored code if REASONS does not contain it."""
    return reason["text"] if isinstance(reason, dict) else REASONS.get(reason, reason)


def warning_of(left_out: Sequence[Reason]) -> str:
    """Return a warning that a rejection has none of the score's reasons (`left_out`), or "" if `left_out` is empty."""
    if not left_out:
        return ""
    return (
        "The score referred the application, and the rejection has none of the score's reasons: "
        f"{'; '.join(map(text_of, left_out))}. Add those that are among the principal reasons "
        "(12 CFR 1002.9, comment 9(b)(2)-7)."
    )


def in_words(reasons: Sequence[Reason]) -> str | None:
    return "; ".join(text_of(reason) for reason in reasons) + "." if reasons else None


def in_full(reasons: Sequence[Reason]) -> list[dict[str, str]]:
    return [
        {"code": reason if isinstance(reason, str) else reason["code"], "text": text_of(reason)} for reason in reasons
    ]
