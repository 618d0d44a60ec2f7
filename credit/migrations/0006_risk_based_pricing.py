from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('credit', '0005_notice_applicant'),
    ]

    operations = [
        migrations.AddField(
            model_name='offer',
            name='risk_based_pricing',
            field=models.CharField(choices=[('notice', 'notice'), ('score_disclosure', 'score_disclosure'), ('not_applicable', 'not_applicable')], max_length=16, null=True),
        ),
        migrations.AddField(
            model_name='offer',
            name='risk_based_pricing_reason',
            field=models.CharField(choices=[('business_credit', 'The credit is primarily for business purposes (12 CFR 1022.70(a)).'), ('same_terms', 'Every applicant gets the same terms (12 CFR 1022.72(a)).'), ('reports_not_used', 'No consumer report affects the terms (12 CFR 1022.72(a)).'), ('requested_terms', 'Applicants get the specific terms that they request (12 CFR 1022.74(a)).'), ('prescreened', 'The offer is a firm offer of credit (12 CFR 1022.74(c)).'), ('home_secured', 'A home secures the credit, and the lender discloses the score itself (12 CFR 1022.74(d)).')], max_length=32, null=True),
        ),
        migrations.AlterField(
            model_name='notice',
            name='kind',
            field=models.CharField(choices=[('adverse_action', 'adverse_action'), ('approval', 'approval'), ('counteroffer', 'counteroffer'), ('incomplete', 'incomplete'), ('pricing', 'pricing')], max_length=16),
        ),
    ]
