from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('credit', '0007_retention_hold'),
    ]

    operations = [
        migrations.AddField(
            model_name='offer',
            name='min_age',
            field=models.IntegerField(null=True),
        ),
    ]
