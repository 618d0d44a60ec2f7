from rest_framework.routers import SimpleRouter


class ApiRouter(SimpleRouter):
    """Routes a viewset to the standard paths without a final slash. `lookup_url_kwarg` is the name of the ID."""

    def __init__(self) -> None:
        super().__init__(trailing_slash=False, use_regex_path=False)
