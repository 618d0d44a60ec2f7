from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('credit', '0039_reconsideration_name'),
    ]

    operations = [
        migrations.AlterField(
            model_name='provider',
            name='agency',
            field=models.CharField(choices=[('cfpb', 'CFPB: banks, savings associations, and credit unions with assets above $10 billion, and their affiliates'), ('occ', 'OCC: national banks, Federal savings associations, and Federal branches and agencies of foreign banks'), ('frb', 'FRB: State member banks, other branches and agencies of foreign banks, lending companies of foreign banks, and organizations under section 25 or 25A of the Federal Reserve Act'), ('fdic', "FDIC: insured banks that aren't members of the Federal Reserve System, insured State branches of foreign banks, and insured State savings associations"), ('ncua', 'NCUA: Federal credit unions'), ('dot', 'DOT: air carriers'), ('stb', 'STB: creditors subject to the Surface Transportation Board'), ('sba', 'SBA: small business investment companies'), ('sec', 'SEC: brokers and dealers'), ('fca', 'FCA: institutions of the Farm Credit System'), ('ftc', 'FTC: retailers, finance companies, and all other creditors')], max_length=8, null=True),
        ),
    ]
