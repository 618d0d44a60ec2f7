from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('credit', '0002_stored_file_deleted'),
    ]

    operations = [
        migrations.AddField(
            model_name='provider',
            name='agency',
            field=models.CharField(choices=[('cfpb', 'CFPB: banks, savings associations, and credit unions with assets above $10 billion, and their affiliates'), ('occ', 'OCC: national banks, Federal savings associations, and Federal branches of foreign banks'), ('frb', 'FRB: State member banks, and branches and lending companies of foreign banks'), ('fdic', "FDIC: insured banks that aren't members of the Federal Reserve System, and insured State savings associations"), ('ncua', 'NCUA: Federal credit unions'), ('dot', 'DOT: air carriers'), ('stb', 'STB: creditors subject to the Surface Transportation Board'), ('sba', 'SBA: small business investment companies'), ('sec', 'SEC: brokers and dealers'), ('fca', 'FCA: institutions of the Farm Credit System'), ('ftc', 'FTC: retailers, finance companies, and all other creditors')], max_length=8, null=True),
        ),
    ]
