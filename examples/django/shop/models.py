from django.db import models


class Invoice(models.Model):
    paid_at = models.DateTimeField(null=True)


class ReceivedWebhook(models.Model):
    """A webhook may come more than once: its id decides whether it is handled."""

    id = models.CharField(primary_key=True, max_length=64)
    body = models.TextField()
