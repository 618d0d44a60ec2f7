from django.conf import settings
from django.db import migrations, models


def say_which(apps, editor):
    installations = apps.get_model("ops", "Installation").objects.using(editor.connection.alias)
    installations.create(kind=settings.ENVIRONMENT)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Installation',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('development', 'development'), ('sandbox', 'sandbox'), ('production', 'production')], max_length=16)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='ops_installation_one'), models.CheckConstraint(condition=models.Q(('kind__in', ('development', 'sandbox', 'production'))), name='ops_installation_kind')],
            },
        ),
        migrations.RunPython(say_which, migrations.RunPython.noop),
    ]
