"""The lender of an application, and its name for applicants."""

from django.utils.translation import gettext

from credit.models import Application, Provider


def lender_of(application: Application) -> Provider:
    """Return the lender of an application. If the lender is unknown, return an unsaved lender without a name."""
    provider_id = str(application.provider_id)
    provider = application.provider_owner(provider_id, application.created_at).first()
    return Provider(pk=provider_id, name="") if provider is None else provider


def lender_in_words(lender: Provider) -> str:
    return lender.name or gettext("Lender %s") % lender.pk
