"""Verifies the webhooks in a file: v1 with the official library, v1a with `cryptography`. See ../webhook-file.ts."""

import base64
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def v1(webhook, body):
    headers = {name: webhook[name] for name in ("webhook-id", "webhook-timestamp", "webhook-signature")}
    try:
        Webhook(webhook["secret"]).verify(body, headers)
        return True
    except WebhookVerificationError:
        return False


def v1a(webhook, body):
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(webhook["public_key"].removeprefix("whpk_")))
    head = f"{webhook['webhook-id']}.{webhook['webhook-timestamp']}.".encode()
    for item in webhook["webhook-signature"].split(" "):
        version, signature = item.split(",", 1)
        if version != "v1a":
            continue
        try:
            key.verify(base64.b64decode(signature), head + body)
            return True
        except InvalidSignature:
            pass
    return False


with open(sys.argv[1], encoding="utf-8") as file:
    webhooks = json.load(file)
results = []
for webhook in webhooks:
    body = base64.b64decode(webhook["body"])
    results.append((v1 if "secret" in webhook else v1a)(webhook, body))
json.dump(results, sys.stdout)
