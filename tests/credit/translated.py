"""An offer with texts in English and Spanish, for tests."""

from copy import deepcopy

SCHEMA = {
    "type": "object",
    "title": "Work on your home",
    "description": "Tell the lender about the work.",
    "properties": {
        "purpose": {"type": "string", "title": "Kind of work", "enum": ["new_roof", "windows"]},
        "floors": {"type": "integer", "title": "Floors of the home", "enum": [1, 2]},
        "plan": {"type": "string", "title": "Plan of the work", "description": "One sentence is enough."},
    },
    "required": ["purpose"],
}
OFFER = {
    "name": "Prairie home loan",
    "description": "For work on your home.",
    "terms_text": "You can repay early.\nThe law of Iowa governs the agreement.",
    "application_schema": SCHEMA,
    "required_documents": ["Estimate of the work"],
}
SPANISH = {
    "name": "Préstamo para el hogar",
    "description": "Para obras en su vivienda.",
    "terms_text": "Puede pagar por anticipado.\nLa ley de Iowa rige el contrato.",
    "application_schema": {
        "title": "Obras en su vivienda",
        "description": "Describa la obra al prestamista.",
        "properties": {
            "purpose": {"title": "Tipo de obra", "choices": {"new_roof": "Un techo nuevo", "windows": "Ventanas"}},
            "floors": {"title": "Pisos de la vivienda", "choices": {"1": "Uno", "2": "Dos"}},
            "plan": {"title": "Plan de la obra", "description": "Basta una frase."},
        },
    },
    "required_documents": {"Estimate of the work": "Presupuesto de la obra"},
}
# The English words of the choices, which the schema has only as values.
ENGLISH = {"application_schema": {"properties": {"purpose": {"choices": {"new_roof": "A new roof"}}}}}


def translated(**more):
    """Return the terms of the offer with its translations."""
    return {**deepcopy(OFFER), "translations": {"es": deepcopy(SPANISH), "en": deepcopy(ENGLISH)}, **more}
