"""As little as an example needs; a real project's settings stay as they are."""

import os
import secrets
from urllib.parse import unquote, urlsplit

_url = urlsplit(os.environ["DATABASE_URL"])
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": _url.hostname,
        "PORT": _url.port or 5432,
        "USER": unquote(_url.username or ""),
        "PASSWORD": unquote(_url.password or ""),
        "NAME": _url.path.lstrip("/"),
    }
}
SECRET_KEY = secrets.token_hex()
ALLOWED_HOSTS = ["127.0.0.1"]
INSTALLED_APPS = ["shop"]
ROOT_URLCONF = "shop.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
# While a secret is rotated: both, with a comma between.
POSTHORN_WEBHOOK_SECRETS = os.environ.get("POSTHORN_WEBHOOK_SECRET", "").split(",")
