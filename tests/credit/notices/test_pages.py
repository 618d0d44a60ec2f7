"""Test the visible text of notice pages without knowledge of their templates."""

import gettext
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.utils import translation

import credit
from config.core.privacy import register
from credit.core.applicant_schema import PATHS, title_of_member
from credit.core.reasons import REASONS
from credit.notices.services import consent_text
from tests.credit.notices.test_table import FOUND, REPORT, SCORE
from tests.credit.notices.world import WHOLE, World, offer_of

pytestmark = pytest.mark.django_db
ROOT = Path(credit.__file__).parent

ECOA = {
    "en": "The Federal Equal Credit Opportunity Act prohibits creditors from discriminating against credit applicants"
    " on the basis of race, color, religion, national origin, sex, marital status, age (provided the applicant has the"
    " capacity to enter into a binding contract); because all or part of the applicant's income derives from any public"
    " assistance program; or because the applicant has in good faith exercised any right under the Consumer Credit"
    " Protection Act. The Federal agency that administers compliance with this law concerning this creditor is: Federal"
    " Trade Commission, Consumer Response Center, 600 Pennsylvania Avenue NW, Washington, DC 20580",
    "es": "prohíbe a los acreedores discriminar a los solicitantes de crédito por motivos de raza, color, religión,"
    " origen nacional, sexo, estado civil o edad (siempre que el solicitante tenga capacidad para celebrar un contrato"
    " vinculante); porque la totalidad o parte de los ingresos del solicitante provenga de un programa de asistencia"
    " pública; o porque el solicitante haya ejercido de buena fe algún derecho conforme a la Ley de Protección del"
    " Crédito al Consumidor",
}
CREDITOR = "Cedar Bank 1 Bank Street Portland, OR 97201"
PERSON = "Rosa Quillfeather 12 Cedar Street Portland, OR 97201 United States"
# Each row has a profile, a language, steps, and the sentences that the page must contain.
REQUIRED = [
    ("us", "en", [(5, "reject", {"reasons": ["bankruptcy", "no_credit_file"]})],
     ["On February 5, 2028 we decided that we cannot grant the credit that you applied for.",
      "Principal reasons for our decision Bankruptcy No credit file", ECOA["en"], CREDITOR, PERSON,
      "A person who had no part in the decision answers within 30 days."]),
    ("us", "es", [(5, "reject", {"reasons": ["bankruptcy", "no_credit_file"]})],
     ["El 5 de febrero de 2028 decidimos que no podemos concederle el crédito que usted solicitó.",
      "Motivos principales de nuestra decisión Bancarrota Sin expediente de crédito", ECOA["es"], CREDITOR,
      PERSON.replace("United States", "Estados Unidos"),
      "La agencia federal que vigila el cumplimiento de esta ley por parte de este acreedor es: Federal Trade"]),
    ("us", "en", [(5, "reject", {"consumer_report": REPORT | SCORE})],
     ["based in whole or in part on information obtained in a report from the consumer reporting agency",
      "The reporting agency played no part in our decision and is unable to supply specific reasons",
      "a free copy of your report from the reporting agency, if you request it no later than 60 days after",
      "you have the right to dispute the matter with the reporting agency",
      "Example Bureau 1 File Street, Chester, PA 19016 Telephone: 800-555-0100",
      "Your credit score 590 Date January 30, 2028 Scores range from a low of 300 to a high of 850",
      "Key factors that adversely affected your credit score: Length of time accounts are open"]),
    ("us", "es", [(5, "reject", {"consumer_report": REPORT | SCORE})],
     ["se basó total o parcialmente en información obtenida en un informe de la agencia",
      "no participó en nuestra decisión y no puede darle los motivos específicos",
      "una copia gratuita de su informe de la agencia de informes, si la solicita a más tardar 60 días después",
      "tiene derecho a disputarla ante la agencia", "Teléfono: 800-555-0100",
      "Fecha 30 de enero de 2028 Los puntajes van de un mínimo de 300 a un máximo de 850"]),
    ("us", "en", [(5, "approve")],
     ["We approved your application for credit on February 5, 2028.", "Amount $5,000.00", "Number of months 24",
      "Annual percentage rate 9.00%", CREDITOR]),
    ("us", "es", [(5, "approve")],
     ["Aprobamos su solicitud de crédito el 5 de febrero de 2028.", "Monto $5,000.00", "Número de meses 24"]),
    ("us", "en", [(5, "counter", {"with_denial": True})],
     ["offer you credit on terms other than those you asked for", "Amount $5,000.00",
      "You can accept this offer until March 11, 2028, 4:00 a.m. PST.",
      "We cannot grant the credit that you asked for.",
      "If you do not accept this offer, that is our decision about your application", "Income insufficient",
      ECOA["en"]]),
    ("us", "es", [(5, "counter", {"with_denial": True})],
     ["ofrecerle un crédito en condiciones distintas de las que usted solicitó",
      "Puede aceptar esta oferta hasta el 11 de marzo de 2028, 4:00 a.m. PST.",
      "Si no acepta esta oferta, esa es nuestra decisión",
      "Ingresos insuficientes", ECOA["es"]]),
    ("us", "en", [(5, "request_documents")],
     ["What we need from you Payslip", "Send us this information by March 6, 2028, 4:00 a.m. PST.",
      "If we do not receive it by then, we will give your application no further consideration.", CREDITOR]),
    ("us", "es", [(5, "request_documents")],
     ["Lo que necesitamos de usted Recibo de sueldo",
      "Envíenos esta información a más tardar el 6 de marzo de 2028, 4:00 a.m. PST.",
      "Si no la recibimos para entonces, no seguiremos considerando su solicitud."]),
    ("eu", "en", [(5, "reject", {"consumer_report": REPORT | FOUND})],
     ["based on a consultation of the following database", "Example Bureau", "Supplied by: Example Data",
      "Result of the consultation: Two arrears",
      "Categories of data that were taken into account: Payment history Debts",
      "you can get advice here: Debt Advice Center", CREDITOR, "You can request reconsideration of this decision."]),
    ("eu", "es", [(5, "reject", {"consumer_report": REPORT | FOUND})],
     ["se basa en la consulta de la siguiente base de datos", "Resultado de la consulta: Two arrears",
      "Categorías de datos que se tuvieron en cuenta: Payment history Debts", "Debt Advice Center"]),
]  # fmt: skip


class Reader(HTMLParser):
    """Collect the visible text of a page."""

    def __init__(self):
        super().__init__()
        self.text, self.hidden, self.language = [], 0, None

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in {"style", "script", "title"}
        self.language = dict(attrs)["lang"] if tag == "html" else self.language

    def handle_endtag(self, tag):
        self.hidden -= tag in {"style", "script", "title"}

    def handle_data(self, data):
        if not self.hidden:
            self.text.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    return re.sub(r"\s+", " ", " ".join(reader.text)).replace(" :", ":"), reader.language


def page_of(profile, language, steps):
    world = World(offer_of(profile), person={**WHOLE, "language": language})
    world.submit(0)
    for day, name, *with_what in steps:
        getattr(world, name)(day, **(with_what[0] if with_what else {}))
    world.issue(6)
    assert world.notice.status == "ready", world.notice.waits_for
    return read(world.notice.html)


@pytest.mark.parametrize(("profile", "language", "steps", "sentences"), REQUIRED)
def test_notice_page_contains_every_required_sentence(profile, language, steps, sentences):
    text, spoken = page_of(profile, language, steps)
    assert spoken == language
    for sentence in sentences:
        assert sentence in text, (sentence, text)


def test_notice_address_ends_with_the_country_in_the_notice_language():
    where = {"line1": "Lindenweg 1", "line2": None, "city": "Bonn", "region": None, "postal_code": "53111"}
    offer = offer_of("eu")
    for language, country in (("en", "Germany"), ("es", "Alemania"), ("de", "Deutschland")):
        world = World(offer, person={**WHOLE, "language": language, "address": {**where, "country": "DE"}})
        world.submit(0)
        world.reject(5)
        world.issue(6)
        assert f"Lindenweg 1 Bonn 53111 {country} " in read(world.notice.html)[0]


def test_notice_page_escapes_user_input():
    other = {"code": "other", "text": "<script>alert(1)</script>"}
    world = World(person={**WHOLE, "legal_name": "<b>Rosa</b>"})
    world.submit(0)
    world.reject(5, [other])
    world.issue(6)
    assert "<script>" not in world.notice.html
    assert "<b>" not in world.notice.html


def test_notice_about_a_report_without_a_score_does_not_mention_a_score():
    text, _ = page_of("us", "en", [(5, "reject", {"consumer_report": REPORT})])
    assert "Example Bureau" in text
    assert "score" not in text


def test_custom_template_folder_overrides_a_block_of_a_notice(settings, tmp_path):
    (tmp_path / "notices").mkdir()
    (tmp_path / "notices" / "creditor.html").write_text("Counsel's words for {{ creditor.name }}.")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    text, _ = page_of("us", "en", [(5, "reject")])
    assert "Counsel's words for Cedar Bank." in text
    assert "Federal Equal Credit Opportunity Act" in text


TRANSLATED = [
    *(ROOT / "templates" / "notices").glob("*"),
    *(ROOT / "templates" / "mail").glob("*"),
    *(ROOT / "templates" / "credit" / "my").glob("*"),
    ROOT / "templates" / "credit" / "agreement.html",
    ROOT / "templates" / "credit" / "schedule.html",
    ROOT.parent / "identity" / "templates" / "account" / "error.html",
    ROOT.parent / "identity" / "templates" / "account" / "form_expired.html",
    ROOT.parent / "identity" / "templates" / "account" / "privacy.html",
]
MODULES = [
    *(ROOT / "my").glob("*.py"),
    *(
        ROOT / item
        for item in (
            "notices/content.py",
            "core/loan_words.py",
            "core/reasons.py",
            "core/lines.py",
            "terms/agreement.py",
            "terms/members.py",
            "../identity/accounts/error_pages.py",
            "../identity/accounts/erasure.py",
            "../identity/accounts/privacy_pages.py",
            "erasure.py",
        )
    ),
]
BLOCK = r"{% blocktranslate[^%]*%}(.*?){% endblocktranslate %}"


TYPED = re.compile(
    r"person\.(?:name|legal_name)|(?:creditor|agreement\.lender)\.(?:name|address)(?:\|linebreaksbr)?"
    r"|report\.(?:agency|address|phone)|factor|heading\.lender|document\.(?:row\.)?(?:name|reason)|(?:one\.)?file\.name|why"
    r"|(?:application|client|entry\.client|key|passkey)\.name|.*\.get_username|session\.user_agent"
    r"|endpoint\.description|assignment\.\w+|note\.(?:author|text.*)|proposal\.row\.(?:proposer|reason.*)"
    r"|entry\.(?:title|text.*|claimed|actor)|record_name|version\.(?:made|published)_by"
)
ISOLATED = re.compile(r"<bdi(?: [^>]*)?>\{\{ ([^}]+) \}\}</bdi>")
PAGES = sorted(
    file
    for folder in ("credit/templates", "identity/templates", "config/backoffice/templates")
    for file in (ROOT.parent / folder).rglob("*.html")
)


def test_notice_templates_isolate_the_text_direction_of_user_input():
    for file in PAGES:
        # Titles and attributes are texts without elements.
        body = re.sub(r'\{% block (?:head_)?title %\}.*|[\w-]+="[^"<>]*"', "", file.read_text())
        bare = re.findall(r"\{\{ ([^}]+) \}\}", ISOLATED.sub("", body))
        assert [name for name in bare if TYPED.fullmatch(name)] == [], file


# Names of right-to-left scripts followed by digits and brackets (CLDR, UAX 9), and words without a break.
def test_notice_isolates_the_text_direction_of_every_name():
    offer = offer_of("us")
    for name in (
        "\u0645\u062d\u0645\u062f (1)", "\u05e9\u05e8\u05d4 12", "\u0710\u071d\u0720 7", "\u0784\u07a6 3",
        "\u07ca\u07d3 5", "\U0001e900\U0001e923 9", "\u0641\u0627\u0637\u0645\u0647\u200c\u0632 [2]",
        "Ada \u05d0\u05d1 Lovelace", "\u202eevil\u202c", "Wolfeschlegelsteinhausenbergerdorff" * 2,
    ):  # fmt: skip
        world = World(offer, person={**WHOLE, "legal_name": name})
        world.submit(0)
        world.reject(5)
        world.issue(6)
        assert f"<bdi>{name}</bdi>" in world.notice.html


def template_texts():
    """Yield every text that is passed to gettext, every reason, and the titles of an applicant's members."""
    for file in TRANSLATED:
        source = file.read_text()
        yield from re.findall(r'{% translate "(.*?)" ', source)
        for block in re.findall(BLOCK, source, re.DOTALL):
            yield re.sub(r"{{ (\w+) }}", r"%(\1)s", block)
    yield from REASONS.values()
    yield from map(title_of_member, PATHS)
    for table in register().values():
        if any(treatment.kind == "personal" and not treatment.is_secret for treatment in table.fields.values()):
            yield from (table.purpose, table.ground, table.source, table.recipients, table.retention)
        kept = [treatment.keep for treatment in table.fields.values() if treatment.keep is not None]
        yield from {text for keep in kept for text in (keep.rule, keep.law) if text}
    for module in MODULES:
        yield from re.findall(r'\b(?:gettext|gettext_noop|_)\(\s*"(.*?)"\s*\)', module.read_text())


def test_every_text_of_a_notice_template_is_translated():
    for file in TRANSLATED:
        bare = re.sub(BLOCK, "", file.read_text(), flags=re.DOTALL)
        bare = re.sub(r"<a [^>]*lang=.*?</a>", "", bare)  # A link to a page in another language is in that language.
        bare = re.sub(r"{% block main %}.*?{% endblock %}", "", bare)  # The text is an attribute.
        bare = re.sub(r"{%.*?%}|{{.*?}}|<!doctype html>|<[^>]*>", " ", bare, flags=re.DOTALL)
        assert set(re.findall(r"[A-Za-z]{2,}", bare)) <= {"UTC"}, file


@pytest.mark.parametrize("language", ["es", "de"])
def test_every_translation_catalog_is_complete_and_compiled(language):
    folder = ROOT / "locale" / language / "LC_MESSAGES"
    with (folder / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    source = (folder / "django.po").read_text()
    for text in template_texts():
        assert compiled.gettext(text) not in {"", text} or text in {"No", "Person", "webhooks"}, text
    entry = re.compile(r'^(?:msgctxt "(.+)"\n)?msgid "(.+)"\nmsgstr "(.*)"$', re.MULTILINE)
    for context, *texts in entry.findall(source):
        text, translated = (item.replace('\\"', '"').replace("\\\\", "\\") for item in texts)
        result = compiled.pgettext(context, text) if context else compiled.gettext(text)
        assert result == translated, "run msgfmt"


def test_consent_text_mentions_paper_copies_and_withdrawal_of_consent():
    assert "on paper" in consent_text("en")
    assert "withdraw this consent at any time" in consent_text("en")
    with translation.override("en"):
        assert "en papel" in consent_text("es")
