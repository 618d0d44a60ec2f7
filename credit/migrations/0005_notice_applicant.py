import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('credit', '0004_provider_name_keys'),
    ]

    operations = [
        migrations.AddField(
            model_name='notice',
            name='applicant',
            field=models.PositiveSmallIntegerField(null=True),
        ),
        migrations.AlterField(
            model_name='notice',
            name='counteroffer',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='notices', to='credit.counteroffer'),
        ),
        migrations.AlterField(
            model_name='notice',
            name='move',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='notices', to='credit.applicationhistory'),
        ),
    ]
