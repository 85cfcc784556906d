from django.conf import settings
from django.db import transaction
from django.http import HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from .models import Invoice, ReceivedWebhook
from .posthorn import publish


@csrf_exempt
@require_POST
def pay(request, id):
    """Pays an invoice and publishes that it was paid: both, or neither."""
    with transaction.atomic():
        invoice, _ = Invoice.objects.select_for_update().get_or_create(id=id)
        invoice.paid_at = timezone.now()
        invoice.save()
        event = publish("acme", "invoice.paid", {"id": id, "from": "django"}, idempotency_key=f"django-{id}-paid")
        if "refused" in request.GET:
            raise RuntimeError("the card was refused")
    return JsonResponse({"event": event})


# The signature stands in for the token that CSRF protection asks for.
@csrf_exempt
@require_POST
def webhook(request):
    """Verifies what Posthorn sends. `request.body` has the bytes as they came: nothing may parse them before."""
    if not any(verified(secret, request) for secret in settings.POSTHORN_WEBHOOK_SECRETS):
        return HttpResponse("no secret verifies this: is it this endpoint's, and the clock right?", status=401)
    ReceivedWebhook.objects.get_or_create(
        id=request.headers["webhook-id"],
        defaults={"body": request.body.decode()},
    )
    return HttpResponse(status=204)


def verified(secret, request):
    try:
        Webhook(secret).verify(request.body, dict(request.headers), json_parse=False)
        return True
    # ValueError: a signature that is no base64.
    except (WebhookVerificationError, ValueError):
        return False


@require_GET
def received(request):
    return JsonResponse({"data": list(ReceivedWebhook.objects.values("id", "body"))})
