from config.api.views import ApiViewSet


class SandboxViewSet(ApiViewSet):
    """The base of operations that must never be served where records count."""

    tag = "sandbox"
