import pytest

from config.core.names import clean_name, name_key, skeleton

LOOK_ALIKE = [
    ("Café Bank x", "Cafe\u0301 Bank x"),
    ("Café Bank x", " Café \u3000Bank\tx "),
    ("Café Bank x", "CAFÉ BANK X"),
    ("Café Bank x", "\uff23\uff41\uff46é \uff22\uff41\uff4e\uff4b \uff58"),
    ("Café Bank x", "\U0001d402afé \U0001d539ank x"),
    ("Café Bank x", "C\u0430fé Bank x"),
    ("Café Bank x", "Café \u0412ank x"),
    ("Café Bank x", "Café\u200b Ba\u202enk x\ufe0f"),
    ("PayPal", "PayPaI"),
    ("PayPal", "paypa1"),
    ("modern", "rnodern"),
    ("BACO", "\u0412\u0410\u0421\u041e"),
    ("Новый Банк", "НОВЫЙ БАНК"),
    ("Straße", "STRASSE"),
    ("Offer", "0ffer"),
    ("Chase", "\u0421hase"),
    ("Ally Bank", "A11y Bank"),
    ("SoFi", "S\u03bfFi"),
    ("Wells", "We\u2113\u2113s"),
    ("Citi", "C\u0456t\u0456"),
    ("Discover", "D\u00adiscover"),
    ("Marcus", "\U0001d40carcus"),
    ("Zopa", "\u0396opa"),
    ("Affirm", "Affirm\ufe0e"),
    ("Nubank", "Nubank\u200d"),
    ("Nova", "\U0001f15d\U0001f15e\U0001f165\U0001f150"),
    ("US Bank", "\U0001f1fa\U0001f1f8 Ba\u0274k"),
]


def test_look_alike_names_have_the_same_comparison_key():
    for name, look_alike in LOOK_ALIKE:
        assert skeleton(name) == skeleton(look_alike), (name, look_alike)
        assert name_key(name) == name_key(look_alike), (name, look_alike)


def test_distinguishable_names_have_different_comparison_keys():
    for name, other in [("Nova", "Vova"), ("Bank A", "Bank B"), ("Новый", "Новая"), ("銀行", "銀杏")]:
        assert name_key(name) != name_key(other), (name, other)


def test_name_is_cleaned_to_nfc_with_single_spaces():
    for name, cleaned in [
        ("  Café\u3000 Bank\tx ", "Café Bank x"),
        ("Cafe\u0301", "Café"),
        ("銀行 №1", "銀行 №1"),
        ("🏦", "🏦"),
    ]:
        assert clean_name(name) == cleaned, (name, cleaned)


INVISIBLE = [
    "",
    " ",
    "\u3164",
    "\u2800",
    "\u0301",
    "a\u202eb",
    "a\u2066b",
    "a\u200bb",
    "a\u00adb",
    "a\x00b",
    "a\x85b\x1b",
    "\ufe0f",
    "a\U0001d159",
    "a\ufffcb",
]


def test_name_with_only_invisible_characters_is_rejected():
    for name in INVISIBLE:
        with pytest.raises(ValueError, match="Must"):
            clean_name(name)
