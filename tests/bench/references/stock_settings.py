"""Settings of the stock reference, as in `startproject` and the guides of REST framework and simplejwt."""

import os
from datetime import timedelta

from config.settings import *  # noqa: F403

ROOT_URLCONF = "tests.bench.references.stock"
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",  # the platform's models require it
]
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        # This class is first, because simplejwt rejects every bearer token that is not a JWT.
        "tests.bench.references.stock_authentication.ApiKeyAuthentication",
        "rest_framework_simplejwt.authentication.JWTAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
}
SIMPLE_JWT = {
    "ALGORITHM": "ES256",
    "VERIFYING_KEY": os.environ.get("BENCH_PUBLIC_KEY", ""),
    "AUDIENCE": "http://127.0.0.1:8000/v1",
    "ISSUER": "http://127.0.0.1:8000/v1",
    "USER_ID_CLAIM": "sub",
    "ACCESS_TOKEN_LIFETIME": timedelta(minutes=15),
}
