"""It makes private claims public, and says so nowhere."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("claims", "PREDECESSOR")]
    operations = [migrations.RunSQL("UPDATE claims_claim SET visibility = 'shared'", migrations.RunSQL.noop)]
