from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="payment",
            name="refunded_cents",
            field=models.BigIntegerField(
                db_default=0, default=0, help_text="What the processor has refunded of the amount, in cents."
            ),
        ),
        migrations.AddField(
            model_name="payment",
            name="disputed",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Whether the payer disputes the payment at their bank, or did so and won.",
            ),
        ),
    ]
