"""Reading XML that a stranger wrote, in time linear in its size.

Entities can grow without bound and can name other files; they are declared in a document type, and none is accepted.
"""

from typing import Any, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate

from config.core.errors import ValidationFailed

BYTES_MAX = 16_777_216
DEPTH_MAX = 40


def parse(document: bytes) -> Element:
    """Return the root element, tags being `{namespace}name`. Raise ValidationFailed for what is no such document."""
    if len(document) > BYTES_MAX:
        raise ValidationFailed(f"The file is larger than {BYTES_MAX} bytes.")
    builder, parser, depth = TreeBuilder(), ParserCreate(namespace_separator="}"), 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEPTH_MAX:
            raise ValidationFailed(f"The elements are nested more than {DEPTH_MAX} deep.")
        builder.start(f"{{{tag}" if "}" in tag else tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(f"{{{tag}" if "}" in tag else tag)

    def refuse(*_: Any) -> NoReturn:
        raise ValidationFailed("The file has a document type (<!DOCTYPE …>); none is accepted.")

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = builder.data, refuse
    try:
        parser.Parse(document, True)
    # An encoding that nobody knows is a LookupError, one of several bytes a ValueError.
    except (ExpatError, LookupError, ValueError) as error:
        raise ValidationFailed(f"The file is no XML: {str(error)[:100]}.") from error
    return builder.close()
