"""Generate random valid schemas of offers, and invalid schemas with the location of each error."""

from copy import deepcopy

TERMS = {
    "type": "object",
    "title": "About the loan",
    "properties": {
        "amount_cents": {"type": "integer", "title": "Amount", "minimum": 100_000, "maximum": 4_000_000},
        "purpose": {"type": "string", "title": "Purpose", "enum": ["car", "home", "other"]},
        "monthly_income_cents": {"type": "integer", "title": "Monthly income", "minimum": 0},
        "employed_since": {"type": "string", "title": "Employed since", "format": "date"},
        "owns_home": {"type": "boolean", "title": "Owns a home", "description": "Also with a mortgage."},
        "rate_wanted": {"type": "number", "minimum": 0, "maximum": 40.5},
        "remarks": {"type": "string", "maxLength": 50},
    },
    "required": ["amount_cents", "purpose", "monthly_income_cents"],
}
WHOLE = {"amount_cents": 250_000, "purpose": "car", "monthly_income_cents": 300_000}


def with_member(member):
    return {"type": "object", "properties": {"a": member}}


# Each pointer is below `/application_schema`; the schema is rejected at the pointer.
BAD = [
    ("", []), ("", "object"), ("", 1), ("", True),
    ("/type", {"properties": {"a": {"type": "string"}}}),
    ("/type", {"type": "array", "properties": {"a": {"type": "string"}}}),
    ("/type", {"type": ["object"], "properties": {"a": {"type": "string"}}}),
    ("/$schema", {"$schema": "http://json-schema.org/draft-07/schema#", **with_member({"type": "string"})}),
    ("", {**with_member({"type": "string"}), "additionalProperties": False}),
    ("", {**with_member({"type": "string"}), "$defs": {}}),
    ("", {**with_member({"type": "string"}), "allOf": []}),
    ("/title", {**with_member({"type": "string"}), "title": 1}),
    ("/title", {**with_member({"type": "string"}), "title": "x" * 201}),
    ("/description", {**with_member({"type": "string"}), "description": ""}),
    ("/properties", {"type": "object"}),
    ("/properties", {"type": "object", "properties": {}}),
    ("/properties", {"type": "object", "properties": []}),
    ("/properties", {"type": "object", "properties": {f"m{n}": {"type": "string"} for n in range(61)}}),
    ("/properties", {"type": "object", "properties": {"a.b": {"type": "string"}}}),
    ("/properties", {"type": "object", "properties": {"": {"type": "string"}}}),
    ("/properties", {"type": "object", "properties": {"é": {"type": "string"}}}),
    ("/required", {**with_member({"type": "string"}), "required": "a"}),
    ("/required/0", {**with_member({"type": "string"}), "required": ["b"]}),
    ("/required/0", {**with_member({"type": "string"}), "required": [1]}),
    ("/required/0", {**with_member({"type": "string"}), "required": [["a"]]}),
    ("/required/1", {**with_member({"type": "string"}), "required": ["a", "a"]}),
    ("", {"type": "object", "properties": {f"m{n}": {"type": "string", "description": "x" * 999} for n in range(20)}}),
    ("/properties/a", with_member(True)),
    ("/properties/a", with_member([])),
    ("/properties/a/type", with_member({})),
    ("/properties/a/type", with_member({"type": "object"})),
    ("/properties/a/type", with_member({"type": "array"})),
    ("/properties/a/type", with_member({"type": ["string", "null"]})),
    ("/properties/a/type", with_member({"type": None})),
    ("/properties/a", with_member({"type": "string", "pattern": "a*"})),
    ("/properties/a", with_member({"type": "string", "minimum": 1})),
    ("/properties/a", with_member({"type": "string", "default": "a"})),
    ("/properties/a", with_member({"type": "integer", "minLength": 1})),
    ("/properties/a", with_member({"type": "integer", "format": "date"})),
    ("/properties/a", with_member({"type": "number", "multipleOf": 2})),
    ("/properties/a", with_member({"type": "boolean", "enum": [True]})),
    ("/properties/a", with_member({"$ref": "#", "type": "string"})),
    ("/properties/a/title", with_member({"type": "string", "title": ""})),
    ("/properties/a/title", with_member({"type": "string", "title": ["a"]})),
    ("/properties/a/title", with_member({"type": "string", "title": "Income\u202e"})),
    ("/properties/a/description", with_member({"type": "string", "description": "Before\ntaxes\u2066"})),
    ("/properties/a/description", with_member({"type": "string", "description": "x" * 1_001})),
    ("/properties/a/format", with_member({"type": "string", "format": "email"})),
    ("/properties/a/format", with_member({"type": "string", "format": ["date"]})),
    ("/properties/a/minLength", with_member({"type": "string", "minLength": -1})),
    ("/properties/a/minLength", with_member({"type": "string", "minLength": 1.0})),
    ("/properties/a/minLength", with_member({"type": "string", "minLength": True})),
    ("/properties/a/maxLength", with_member({"type": "string", "maxLength": 10_001})),
    ("/properties/a/minLength", with_member({"type": "string", "minLength": 2, "maxLength": 1})),
    ("/properties/a/minimum", with_member({"type": "integer", "minimum": 1.5})),
    ("/properties/a/minimum", with_member({"type": "integer", "minimum": "1"})),
    ("/properties/a/maximum", with_member({"type": "number", "maximum": True})),
    ("/properties/a/maximum", with_member({"type": "number", "maximum": 1e300})),
    ("/properties/a/minimum", with_member({"type": "number", "minimum": 2, "maximum": 1})),
    ("/properties/a", with_member({"type": "string", "maximum": "AAA", "enum": ["x"]})),
    ("/properties/a", with_member({"type": "integer", "minLength": 0, "enum": [5]})),
    ("/properties/a/enum", with_member({"type": "string", "enum": []})),
    ("/properties/a/enum", with_member({"type": "string", "enum": "a"})),
    ("/properties/a/enum", with_member({"type": "integer", "enum": list(range(101))})),
    ("/properties/a/enum/1", with_member({"type": "string", "enum": ["a", 1]})),
    ("/properties/a/enum/1", with_member({"type": "string", "enum": ["caf\u00e9", "cafe\u0301"]})),
    ("/properties/a/enum/0", with_member({"type": "string", "enum": [["a"]]})),
    ("/properties/a/enum/1", with_member({"type": "string", "enum": ["a", "a"]})),
    ("/properties/a/enum/1", with_member({"type": "number", "enum": [1, 1.0]})),
    ("/properties/a/enum/0", with_member({"type": "integer", "enum": [True]})),
    ("/properties/a/enum/1", with_member({"type": "string", "enum": ["2026-01-31", "x"], "format": "date"})),
    ("/properties/a/enum/0", with_member({"type": "integer", "enum": [1], "minimum": 2})),
]  # fmt: skip


def random_member(random):
    """Return a field of a random type, with random keywords of that type."""
    kind = random.choice(("string", "integer", "number", "boolean"))
    member = {"type": kind}
    if random.random() < 0.6:
        member["title"] = f"Title {random.randrange(1000)}"
    if random.random() < 0.3:
        member["description"] = "What it is — “quoted”, <b>bold</b>"
    if kind == "string":
        chosen = random.choice(("plain", "date", "enum", "bounds"))
        if chosen == "date":
            member["format"] = "date"
        elif chosen == "enum":
            member["enum"] = random.sample(["red", "green", "dark blue", "ü", "x/y", "~"], random.randint(1, 6))
        elif chosen == "bounds":
            member["minLength"] = random.randint(0, 20)
            member["maxLength"] = member["minLength"] + random.randint(0, 20)
    elif kind in {"integer", "number"}:
        low = random.randint(-10_000, 10_000) if kind == "integer" else round(random.uniform(-99, 99), 2)
        if random.random() < 0.6:
            member["minimum"] = low
        if random.random() < 0.6:
            member["maximum"] = low + random.randint(0, 500)
        if random.random() < 0.2:
            member["enum"] = [low, low + 1] if "maximum" not in member else [low]
            member.pop("maximum", None)
    return member


def random_schema(random, most=60):
    """Return a valid schema with at most `most` fields."""
    members = {f"member_{number}": random_member(random) for number in range(random.randint(1, most))}
    schema = {"type": "object", "properties": members}
    schema["required"] = random.sample(sorted(members), random.randint(0, len(members)))
    if random.random() < 0.5:
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return deepcopy(schema)
