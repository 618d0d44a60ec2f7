from typing import Any

from allauth.account.models import EmailAddress
from allauth.account.stages import EmailVerificationStage


class ConfirmAddressStage(EmailVerificationStage):  # type: ignore[misc]
    """Whoever signed up confirms their address before they come in. An operator's accounts need none."""

    def handle(self) -> tuple[Any, bool]:
        user = self.login.user
        if user is not None and not self.login.signup and not EmailAddress.objects.filter(user=user).exists():
            return None, True
        answer: tuple[Any, bool] = super().handle()
        return answer
