from config.core.errors import ApiError


class DocumentClosed(ApiError):
    """The document was accepted, or has as many files as it takes."""

    error, code, stored = "document_closed", "E3015", True
    message = "The document takes no more files."


class InfectedFile(ApiError):
    error, code = "infected_file", "E1021"
    message = "The file is infected. It was not kept."
