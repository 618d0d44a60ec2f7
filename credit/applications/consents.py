"""Display the consents about an application, with the lender's name and the application's reference."""

from django.db.models import OuterRef, Subquery

from credit.core.figures import reference_of
from credit.models import Application
from credit.models.applications import LENDER_NAME
from identity.access.consents import CREDIT_REPORT, LENDER_SHARING

_OF_APPLICATION = (LENDER_SHARING, CREDIT_REPORT)
_LENDER = Application.objects.filter(pk=OuterRef("reference")).values(lender=LENDER_NAME)

NAMES = dict.fromkeys(_OF_APPLICATION, Subquery(_LENDER))
REFERENCES = dict.fromkeys(_OF_APPLICATION, reference_of)
