from rest_framework.routers import SimpleRouter


class ApiRouter(SimpleRouter):
    """The standard paths of a viewset, without a slash at the end; the id is named by `lookup_url_kwarg`."""

    def __init__(self) -> None:
        super().__init__(trailing_slash=False, use_regex_path=False)
