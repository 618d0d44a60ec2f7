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


TEXT = {"type": "string"}


def with_member(member):
    return {"type": "object", "properties": {"a": member}}


def schema_with(**keywords):
    return {**with_member(TEXT), **keywords}


# Each pointer is below `/application_schema`; the schemas are rejected at the pointer.
_SCHEMAS = {
    "": [
        [], "object", 1, True, schema_with(additionalProperties=False), schema_with(**{"$defs": {}}),
        schema_with(allOf=[]),
        {"type": "object", "properties": {f"m{n}": {**TEXT, "description": "x" * 999} for n in range(20)}},
    ],
    "/type": [{"properties": {"a": TEXT}}, schema_with(type="array"), schema_with(type=["object"])],
    "/$schema": [schema_with(**{"$schema": "http://json-schema.org/draft-07/schema#"})],
    "/title": [schema_with(title=1), schema_with(title="x" * 201)], "/description": [schema_with(description="")],
    "/properties": [
        {"type": "object"}, *(schema_with(properties=members) for members in (
            {}, [], {f"m{n}": TEXT for n in range(61)}, {"a.b": TEXT}, {"": TEXT}, {"é": TEXT},
        )),
    ],
    "/required": [schema_with(required="a")],
    "/required/0": [schema_with(required=names) for names in (["b"], [1], [["a"]])],
    "/required/1": [schema_with(required=["a", "a"])],
}  # fmt: skip
_NUMBER, _INTEGER = {"type": "number"}, {"type": "integer"}
_MEMBERS = {
    "": [
        True, [], {**TEXT, "pattern": "a*"}, {**TEXT, "minimum": 1}, {**TEXT, "default": "a"},
        {**_INTEGER, "minLength": 1}, {**_INTEGER, "format": "date"}, {**_NUMBER, "multipleOf": 2},
        {"type": "boolean", "enum": [True]}, {"$ref": "#", **TEXT}, {**TEXT, "maximum": "AAA", "enum": ["x"]},
        {**_INTEGER, "minLength": 0, "enum": [5]},
    ],
    "/type": [{}, *({"type": kind} for kind in ("object", "array", ["string", "null"], None))],
    "/title": [{**TEXT, "title": title} for title in ("", ["a"], "Income\u202e")],
    "/description": [{**TEXT, "description": text} for text in ("Before\ntaxes\u2066", "x" * 1_001)],
    "/format": [{**TEXT, "format": "email"}, {**TEXT, "format": ["date"]}],
    "/minLength": [*({**TEXT, "minLength": value} for value in (-1, 1.0, True)),
                   {**TEXT, "minLength": 2, "maxLength": 1}],
    "/maxLength": [{**TEXT, "maxLength": 10_001}],
    "/minimum": [{**_INTEGER, "minimum": 1.5}, {**_INTEGER, "minimum": "1"}, {**_NUMBER, "minimum": 2, "maximum": 1}],
    "/maximum": [{**_NUMBER, "maximum": True}, {**_NUMBER, "maximum": 1e300}],
    "/enum": [{**TEXT, "enum": []}, {**TEXT, "enum": "a"}, {**_INTEGER, "enum": list(range(101))}],
    "/enum/0": [{**TEXT, "enum": [["a"]]}, {**_INTEGER, "enum": [True]}, {**_INTEGER, "enum": [1], "minimum": 2}],
    "/enum/1": [
        *({**TEXT, "enum": choices} for choices in (["a", 1], ["caf\u00e9", "cafe\u0301"], ["a", "a"])),
        {**_NUMBER, "enum": [1, 1.0]}, {**TEXT, "enum": ["2026-01-31", "x"], "format": "date"},
    ],
}  # fmt: skip
BAD = [
    *((pointer, schema) for pointer, schemas in _SCHEMAS.items() for schema in schemas),
    *((f"/properties/a{at}", with_member(member)) for at, members in _MEMBERS.items() for member in members),
]


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
