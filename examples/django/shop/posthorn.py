import json

from django.db import connection


def publish(tenant, type, payload, *, idempotency_key=None, channels=None, deliver_at=None):
    """Publishes an event in the current transaction: rolled back, it never happened; committed, it is owed.

    Returns the event's id. Raises django.db.Error when Posthorn refuses it; the transaction is then to be rolled back.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("publish() belongs into transaction.atomic(): outside, it commits by itself")
    with connection.cursor() as cursor:
        cursor.execute(
            "select posthorn.publish(%s, %s, %s, %s, %s::text[], null, %s)",
            [tenant, type, json.dumps(payload, separators=(",", ":")), idempotency_key, channels, deliver_at],
        )
        return cursor.fetchone()[0]
