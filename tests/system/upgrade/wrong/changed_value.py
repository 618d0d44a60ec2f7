"""Changes the visibility of claims without declaring the change."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("claims", "PREDECESSOR")]
    operations = [migrations.RunSQL("UPDATE claims_claim SET visibility = 'shared'", migrations.RunSQL.noop)]
