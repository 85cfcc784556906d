from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    operations = [
        migrations.CreateModel("Invoice", [("id", models.BigAutoField(primary_key=True)), ("paid_at", models.DateTimeField(null=True))]),
        migrations.CreateModel(
            "ReceivedWebhook",
            [("id", models.CharField(primary_key=True, max_length=64)), ("body", models.TextField())],
        ),
    ]
