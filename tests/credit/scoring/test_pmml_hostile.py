"""PMML files that mean harm."""

import pytest

from credit.scoring import xml_text
from tests.credit.scoring.foreign_cards import (
    ANY,
    DERIVED,
    MISSING,
    REST,
    TEXT,
    attribute,
    both,
    foreign,
    isin,
    refusal,
    simple,
)

LAUGHS = '<!DOCTYPE a [<!ENTITY l0 "lol">' + "".join(
    f'<!ENTITY l{number} "{f"&l{number - 1};" * 10}">' for number in range(1, 10)
)
MANY = b"<Characteristic/>" * 200_000
HOSTILE = {
    "nothing": b"",
    "no XML": b"%PDF-1.7",
    "a text": b"&",
    "zeros": bytes(1000),
    "not closed": b"<PMML>",
    "laughs": f"{LAUGHS}]><PMML>&l9;</PMML>".encode(),
    "a long entity": ('<!DOCTYPE a [<!ENTITY b "' + "b" * 100_000 + '">]><PMML>' + "&b;" * 50_000 + "</PMML>").encode(),
    "a file of ours": b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><PMML>&b;</PMML>',
    "a document type elsewhere": b'<!DOCTYPE PMML SYSTEM "http://127.0.0.1:1/a.dtd"><PMML/>',
    "deep": b"<a>" * 1_000_000,
    "deep and closed": b"<a>" * 200_000 + b"</a>" * 200_000,
    "larger than allowed": b"<a>" + b" " * xml_text.BYTES_MAX + b"</a>",
    "an encoding that is none": b'<?xml version="1.0" encoding="utf-nine"?><PMML/>',
    "an encoding of several bytes": b'<?xml version="1.0" encoding="utf-7"?><PMML/>',
    "another encoding": b'<?xml version="1.0" encoding="utf-16"?><PMML/>',
    "half a letter": b"<PMML a='\xc3'/>",
    "a name that is none": b"<PMML:a/>",
    "attributes": b"<PMML " + b" ".join(b'a%d="1"' % number for number in range(100_000)) + b"/>",
    "the same attribute": b"<PMML a='1' a='2'/>",
    "one long attribute": b'<PMML a="' + b"a" * 5_000_000 + b'"/>',
    "namespaces": b"<PMML " + b" ".join(b'xmlns:a%d="b%d"' % (number, number) for number in range(20_000)) + b"/>",
    "nested predicates": foreign(
        attribute(1, '<CompoundPredicate booleanOperator="and">' * 20 + "</CompoundPredicate>" * 20)
    ),
    "quotes": foreign(attribute(1, isin('"' + '\\"' * 1_000_000)), data=TEXT),
    "many attributes": foreign(*[MISSING] * 50_000),
    "many values": foreign(MISSING, attribute(1, isin("a " * 500_000)), data=TEXT),
    "many thresholds": foreign(*[attribute(1, both(*(simple("lessThan", n) for n in range(500)))) for _ in range(40)]),
    "many characteristics": foreign(MISSING, REST).replace(b"</Characteristics>", MANY + b"</Characteristics>"),
    "many digits": foreign(MISSING, attribute("1" * 1_000_000, "<True/>")),
    "a deep sum": foreign(*ANY, more=DERIVED.format('<Apply function="+">' * 25 + "</Apply>" * 25)),
    "a wide sum": foreign(*ANY, more=DERIVED.format("<Apply>" + '<FieldRef field="x"/>' * 200_000 + "</Apply>")),
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_means_harm_is_refused(case):
    assert refusal(HOSTILE[case])
    assert len(refusal(HOSTILE[case])) < 20_000


def test_an_unknown_entity_is_refused():
    assert "no XML" in refusal(b"<PMML>&laughs;</PMML>")
