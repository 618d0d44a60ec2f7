"""What the pages on which people log in have in common: their limits, and how a refusal is shown."""

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from config.api.middleware import client_address
from config.api.rate_limits import RateLimited, consume, login_attempt
from config.core.errors import ApiError, Unavailable

if TYPE_CHECKING:
    from django.contrib.auth.forms import AuthenticationForm as _Form
else:
    _Form = object


class LimitedLogIn(_Form):
    """Mixed into Django's AuthenticationForm: counts a try before its password is hashed; keeps why it was refused."""

    refusal: ApiError | None = None

    def clean(self) -> dict[str, Any]:
        request: Any = self.request
        address = client_address(request)
        try:
            consume("token", address)
            with login_attempt(self.cleaned_data.get("username", ""), address):
                return super().clean()
        except (RateLimited, Unavailable) as refusal:
            self.refusal = refusal
            raise ValidationError(words_of(refusal), code="refused") from refusal


def words_of(refusal: ApiError) -> str:
    seconds = int(refusal.headers["Retry-After"])
    wait = f"{seconds} seconds" if seconds < 120 else f"{-(-seconds // 60)} minutes"
    return f"Too many tries to log in. Try again in {wait}." if isinstance(refusal, RateLimited) else str(refusal)


def show_refusal(response: HttpResponse, refusal: ApiError | None) -> HttpResponse:
    """Give a page the status and the headers of what it tells; a page that refuses nobody stays as it is."""
    if refusal is not None:
        response.status_code = refusal.status
        for name, value in refusal.headers.items():
            response.headers[name] = value
    return response


def logged_address(request: HttpRequest) -> str | None:
    """Return the client's address for the log of log-ins, None where a proxy reports something else."""
    address = client_address(request)
    try:
        return str(ip_address(address.partition("%")[0]))
    except ValueError:
        return None
