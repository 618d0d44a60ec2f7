"""Logos of lenders. Lists and pages read `Provider.logo_sha256`; only the logo's own URL reads the file."""

from hashlib import sha256

from django.db import models

from credit.core.logos import Logo
from credit.models.offers import Provider


class ProviderLogo(models.Model):
    """The logo of a lender, as its URL serves it."""

    provider = models.OneToOneField(Provider, on_delete=models.CASCADE, primary_key=True, related_name="+")
    media_type = models.CharField(max_length=32)
    sha256 = models.CharField(max_length=64, db_index=True)
    content = models.BinaryField()

    def __str__(self) -> str:
        return str(self.provider_id)

    @classmethod
    def set(cls, provider: Provider, logo: Logo | None) -> None:
        """Replace or remove a lender's logo, and set `logo_sha256` of the instance. Requires a transaction."""
        cls.objects.filter(provider=provider).delete()
        provider.logo_sha256 = None
        if logo is not None:
            digest = provider.logo_sha256 = sha256(logo.content).hexdigest()
            cls.objects.create(provider=provider, media_type=logo.media_type, sha256=digest, content=logo.content)
