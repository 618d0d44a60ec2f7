from config.core.errors import ApiError, UnsupportedMediaType, ValidationFailed


class DocumentClosed(ApiError):
    """The document was accepted, or has as many files as it takes."""

    error, code, stored = "document_closed", "E3015", True
    message = "The document takes no more files."


class StorageQuotaExceeded(ApiError):
    """The files of the account or of its drafts would take more bytes than they may."""

    error, code, stored = "storage_quota_exceeded", "E3016", True
    message = "Your files take too much storage."


class InfectedFile(ApiError):
    error, code = "infected_file", "E1021"
    message = "The file is infected. It was not kept."


class LockedFile(ValidationFailed):
    message = "The PDF is protected by a password. Print it to a new PDF without one, and send that."


class BrokenFile(ValidationFailed):
    message = "The file is damaged, or only a part of it arrived. Save or scan it again, and send that."


class PhonePicture(UnsupportedMediaType):
    message = "This is a HEIC picture, which many computers can't open. Save it as JPEG, and send that."
