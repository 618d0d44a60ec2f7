"""Django settings of both services. The settings are read from the environment at startup.

`ENVIRONMENT` selects the profile. `development` requires no variable, and stores its state in `VAR_DIR`. `production`
reads all secrets from the environment, and does not start if a secret is missing or weak. `sandbox` is the production
profile for trials of the API, with the built-in vendors and `/v1/sandbox/…`. docs/operate/settings.md lists all
variables and their defaults.
"""

import tomllib
import warnings
from functools import partial
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from config import env as environment
from config.core.databases import database_of
from config.mail import environment as mail_environment
from credit.documents import environment as documents_environment
from identity.oidc import environment as staff_environment
from payments.chain import environment as chain_environment

VAR_DIR = environment.var_dir()

ENVIRONMENT = environment.choice("ENVIRONMENT", "development", ("development", "sandbox", "production"))
PRODUCTION = ENVIRONMENT != "development"  # a sandbox also uses the production profile
SANDBOX = ENVIRONMENT == "sandbox"
# ledger/wsgi.py sets "ledger".
SERVICE = environment.choice("SERVICE", "platform", ("platform", "ledger"))

if PRODUCTION and environment.text("FAULT_POINT"):
    raise ImproperlyConfigured("FAULT_POINT kills processes for tests. Unset it.")

SECRET_KEY, FIELD_ENCRYPTION_KEYS = environment.application_secrets(VAR_DIR, production=PRODUCTION, service=SERVICE)

# Debug pages would expose settings and local variables, so no environment enables them.
DEBUG = False

# --- URLs ------------------------------------------------------------------------------------------------------

BASE_URL = environment.base_address("BASE_URL", "http://127.0.0.1:8000/v1", path="/v1", https_only=PRODUCTION)
HOST_ROOT = BASE_URL.removesuffix("/v1")
APP_URL = environment.base_address("APP_URL", HOST_ROOT, https_only=PRODUCTION)
PRIVACY_POLICY_URL = environment.https_url("PRIVACY_POLICY_URL")
TERMS_URL = environment.https_url("TERMS_URL")
CHAIN_URL = environment.base_address("CHAIN_URL", "http://127.0.0.1:8001")
ALLOWED_HOSTS = environment.host_names(
    environment.listing("ALLOWED_HOSTS")
    or ([] if PRODUCTION else ["localhost", "127.0.0.1", "::1", str(urlsplit(BASE_URL).hostname)])
)
if PRODUCTION and not ALLOWED_HOSTS:
    raise ImproperlyConfigured("ALLOWED_HOSTS is missing: set it to the host names served, joined by commas.")
# The X-Forwarded-Proto headers of these proxies are trusted.
TRUSTED_PROXIES = environment.ip_networks("TRUSTED_PROXIES")
ROOT_URLCONF = "ledger.urls" if SERVICE == "ledger" else "config.urls"
WSGI_APPLICATION = "ledger.wsgi.application" if SERVICE == "ledger" else "config.wsgi.application"
APPEND_SLASH = False

# --- Review and lending ------------------------------------------------------------------------------------------

REVIEW_POLICY = environment.choice(
    "REVIEW_POLICY", "four_eyes" if PRODUCTION else "open", ("open", "reviewed", "four_eyes")
)
# With "open", a provider ID belongs to the first account that uses it. With "granted", staff assign provider IDs.
PROVIDERS = environment.choice("PROVIDERS", "granted" if PRODUCTION else "open", ("open", "granted"))
# Scores have no effect ("off"), create a proposal for the reviewer ("assist"), or decide ("automatic").
DECISIONING = environment.choice("DECISIONING", "assist", ("off", "assist", "automatic"))
REQUIRE_LISTED_OFFERS = environment.flag("REQUIRE_LISTED_OFFERS")
DOCUMENT_STORAGE = environment.text("DOCUMENT_STORAGE", str(VAR_DIR.absolute() / "documents"))
# clamd at this address scans uploads. If the variable is unset, uploads are not scanned.
DOCUMENT_SCANNER = documents_environment.scanner_address("DOCUMENT_SCANNER")
NOTICE_CHANNELS = environment.listing("NOTICE_CHANNELS") or ["portal", "post", "provider"]
environment.check("NOTICE_CHANNELS", NOTICE_CHANNELS, "portal|email|post|provider", "portal, email, post, provider")
# A code from `credit/core/agencies.py`, or an agency's name and address. A lender's own agency has priority.
NOTICE_AGENCY = environment.text("NOTICE_AGENCY", "ftc")
NOTICE_TEMPLATES = environment.folder("NOTICE_TEMPLATES")
# Allows trials: simulated vendors in production, and SQLite in production or a sandbox.
ALLOW_SANDBOX = environment.flag("ALLOW_SANDBOX")
PROVIDER_NAME = environment.text("PROVIDER_NAME", "Credit Platform")
PROVIDER_ID = environment.text("PROVIDER_ID", "credit-platform")
ANCHOR_DECISIONS = environment.flag("ANCHOR_DECISIONS", default=not PRODUCTION)
# The services share this default on a development machine.
LEDGER_CLIENT_KEY = environment.text("LEDGER_CLIENT_KEY") or (
    "" if PRODUCTION else sha256(f"LEDGER_CLIENT_KEY {SECRET_KEY}".encode()).hexdigest()
)
# This key signs the first anchored records. `rotate_record_key` creates later keys.
DECISION_SIGNING_KEY = environment.text("DECISION_SIGNING_KEY")
LEDGER_CA_FILE = environment.file("LEDGER_CA_FILE", "the ledger's CA certificate in PEM")
PLATFORM_CA_FILE = environment.file("PLATFORM_CA_FILE", "the platform's CA certificate in PEM")
_named_by_make_run = VAR_DIR / "ledger-origin"
LEDGER_ORIGIN = environment.text("LEDGER_ORIGIN") or (
    _named_by_make_run.read_text().strip()
    if not PRODUCTION and _named_by_make_run.exists()
    else urlsplit(CHAIN_URL).netloc
)
LEDGER_SIGNING_KEY = environment.text("LEDGER_SIGNING_KEY")
LEDGER_GUARD_FILE = Path(environment.text("LEDGER_GUARD_FILE", str(VAR_DIR / "ledger-guard.json")))
LEDGER_API_KEYS = frozenset(digest.lower() for digest in environment.listing("LEDGER_API_KEYS"))
environment.check("LEDGER_API_KEYS", LEDGER_API_KEYS, "[0-9a-f]{64}", "SHA-256 digests of keys, 64 hex digits each")
# If the operator replaced a log, these are the URLs of the previous and the next log.
LEDGER_PREVIOUS_URL = environment.text("LEDGER_PREVIOUS_URL") and environment.base_address("LEDGER_PREVIOUS_URL", "")
LEDGER_NEXT_URL = environment.text("LEDGER_NEXT_URL") and environment.base_address("LEDGER_NEXT_URL", "")
# This file in C2SP's tlog-policy format contains the log's witnesses and the size of their quorum.
WITNESS_POLICY = environment.text("WITNESS_POLICY")

# Allows webhooks to all addresses and ports, such as a receiver on a development machine.
WEBHOOK_ALLOW_PRIVATE = environment.flag("WEBHOOK_ALLOW_PRIVATE")
if PRODUCTION and WEBHOOK_ALLOW_PRIVATE:
    raise ImproperlyConfigured("WEBHOOK_ALLOW_PRIVATE lets customers reach the internal network. Unset it.")
# After this number of seconds, other workers can claim the deliveries of a dead worker.
WEBHOOK_LEASE_SECONDS = environment.integer("WEBHOOK_LEASE_SECONDS", 60, minimum=1)

METRICS = environment.flag("METRICS", default=True)
METRICS_HOST = environment.own_host("METRICS_HOST", "127.0.0.1")
METRICS_PORT = environment.integer("METRICS_PORT", 8002, minimum=1, maximum=65_535)

# --- Vendors -----------------------------------------------------------------------------------------------------

if SANDBOX:
    environment.refuse_providers()

# --- Card payments -----------------------------------------------------------------------------------------------

CARD_PROCESSOR = environment.choice("CARD_PROCESSOR", "sandbox", ("sandbox", "stripe"))
STRIPE_BASE_URL = environment.base_address("STRIPE_BASE_URL", "https://api.stripe.com", https_only=PRODUCTION)
STRIPE_SECRET_KEY = environment.text("STRIPE_SECRET_KEY")
STRIPE_WEBHOOK_SECRET = environment.text("STRIPE_WEBHOOK_SECRET")
if CARD_PROCESSOR == "stripe":
    environment.require(("STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET"), because="CARD_PROCESSOR=stripe")
PAYMENT_METHODS = environment.choice(
    "PAYMENT_METHODS", "persistent" if PRODUCTION else "documented", ("documented", "persistent")
)
# After this number of seconds, another request may process a payment. Must exceed the card processor's time limit.
PAYMENT_LEASE_SECONDS = environment.integer("PAYMENT_LEASE_SECONDS", 90, minimum=1)

# --- Wallets and the settlement chain ----------------------------------------------------------------------------

CUSTODY = environment.choice("CUSTODY", "sandbox", ("sandbox", "circle"))
CIRCLE_BASE_URL = environment.base_address("CIRCLE_BASE_URL", "https://api.circle.com", https_only=PRODUCTION)
CIRCLE_API_KEY = environment.text("CIRCLE_API_KEY")
# Every request that creates a wallet requires the encrypted entity secret. Without CIRCLE_WALLET_SET_ID, the platform
# creates a wallet set.
CIRCLE_ENTITY_SECRET = environment.text("CIRCLE_ENTITY_SECRET")
environment.check("CIRCLE_ENTITY_SECRET", [CIRCLE_ENTITY_SECRET], "([0-9a-fA-F]{64})?", "64 hex digits")
CIRCLE_WALLET_SET_ID = environment.text("CIRCLE_WALLET_SET_ID")
if CUSTODY == "circle":
    environment.require(("CIRCLE_API_KEY",), because="CUSTODY=circle")
# Without this variable, crypto payments are simulated and marked as simulated.
SETTLEMENT_RPC_URL = environment.secret_address("SETTLEMENT_RPC_URL", "https://node.example/key", ("http", "https"))
SETTLEMENT_NETWORK = chain_environment.network("SETTLEMENT_NETWORK", "base")
SETTLEMENT_TOKEN_ADDRESS = chain_environment.contract_address("SETTLEMENT_TOKEN_ADDRESS")
SETTLEMENT_CONFIRMATIONS = environment.integer("SETTLEMENT_CONFIRMATIONS", 12, minimum=1)
if SETTLEMENT_RPC_URL:
    environment.require(("SETTLEMENT_TOKEN_ADDRESS",), because="SETTLEMENT_RPC_URL")

REPORTS = environment.adapter("REPORTS", "off" if PRODUCTION else "sandbox", ("off", "sandbox"))
OPEN_BANKING = environment.adapter("OPEN_BANKING", "sandbox", ("sandbox", "plaid"))
environment.check("OPEN_BANKING", [OPEN_BANKING], ".{1,32}", "at most 32 characters")  # the length of the column
if OPEN_BANKING == "plaid":
    environment.require(("PLAID_BASE_URL", "PLAID_CLIENT_ID", "PLAID_SECRET"), because="OPEN_BANKING=plaid")
PLAID_BASE_URL = environment.base_address("PLAID_BASE_URL", "https://sandbox.plaid.com", https_only=PRODUCTION)
PLAID_CLIENT_ID = environment.text("PLAID_CLIENT_ID")
PLAID_SECRET = environment.text("PLAID_SECRET")
PLAID_TEMPLATE_ID = environment.text("PLAID_TEMPLATE_ID", "idvtmp_default")
PLAID_COUNTRY_CODES = environment.listing("PLAID_COUNTRY_CODES") or ["US"]
environment.check("PLAID_COUNTRY_CODES", PLAID_COUNTRY_CODES, "[A-Z]{2}", "codes such as US or US,CA")

# --- Applications ------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "config.backoffice.apps.BackOfficeConfig",  # replaces the admin's templates, so it must come first
    # The ledger has no back office, so it does not import the `admin.py` of each app.
    "config.backoffice.apps.BackOfficeAdminConfig"
    if SERVICE == "platform"
    else "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "oauth2_provider",
    "config.api",
    "config.docs",
    "config.mail",
    "config.ops",
    "config.webhooks",
    "identity",
    "staging",
    "credit",
    "claims",
    "payments",
    "ledger",
]
if SERVICE == "platform":
    # identity's templates override those of allauth, so these apps must follow identity. The ledger has no accounts.
    INSTALLED_APPS += ["allauth", "allauth.account", "allauth.mfa", "allauth.usersessions"]

MIDDLEWARE = [
    "config.ops.access_log.RequestIdMiddleware",
    "config.core.deadline.DeadlineMiddleware",
    "config.api.middleware.TransportMiddleware",
    "django.middleware.security.SecurityMiddleware",
    *(["allauth.account.middleware.AccountMiddleware"] if SERVICE == "platform" else []),
    "config.ops.page_middleware.PageMiddleware",
]
PAGE_MIDDLEWARE = ["whitenoise.middleware.WhiteNoiseMiddleware", "django.middleware.common.CommonMiddleware"]
if SERVICE == "platform":
    CSRF_FAILURE_VIEW = "identity.accounts.pages.form_expired"
    # The ledger has neither accounts nor forms. This middleware creates reference cycles, which would keep large
    # reports in memory until the garbage collector runs.
    PAGE_MIDDLEWARE += [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "identity.accounts.middleware.AccountPages",
        "django.middleware.csrf.CsrfViewMiddleware",
        "config.ops.page_middleware.VisitorMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "identity.accounts.typed_text.TypedText",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
    ]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [NOTICE_TEMPLATES] if NOTICE_TEMPLATES else [],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                *(["identity.accounts.pages.brand"] if SERVICE == "platform" else []),
            ]
        },
    }
]

# --- Database ----------------------------------------------------------------------------------------------------

# Commands and migrations have no limit (0). config/wsgi.py sets a limit for requests.
STATEMENT_TIMEOUT_SECONDS = environment.integer("STATEMENT_TIMEOUT_SECONDS", 0)
_database_url = environment.text("DATABASE_URL")
if PRODUCTION and not _database_url:
    raise ImproperlyConfigured("DATABASE_URL is missing: set it to postgres://user:password@host:5432/name.")
_ledger_database_url = environment.text("LEDGER_DATABASE_URL")
_database_of = partial(database_of, statement_timeout_seconds=STATEMENT_TIMEOUT_SECONDS)
DATABASES = {"default": _database_of(_database_url or f"sqlite:///{VAR_DIR / 'platform.sqlite3'}")}
if _ledger_database_url and _ledger_database_url != _database_url:
    DATABASES["ledger"] = _database_of(_ledger_database_url, variable="LEDGER_DATABASE_URL")
    DATABASE_ROUTERS = ["ledger.routers.LedgerRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = environment.secret_address("REDIS_URL", "redis://127.0.0.1:6379/0", ("redis", "rediss", "unix"))
if REDIS_URL:
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
            # Requests must not hang if Redis hangs.
            "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
        }
    }

# --- People, passwords, sessions ---------------------------------------------------------------------------------

AUTH_USER_MODEL = "identity.User"
PASSWORD_HASHERS = ["identity.access.hashers.PasswordHasher", "identity.access.hashers.RandomSecretHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "identity.access.passwords.LengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {"NAME": "identity.access.passwords.OwnNameValidator"},
]
# Production rejects sandbox keys by their prefix.
API_KEY_PREFIXES = {"development": "ck_test_", "sandbox": "ck_test_", "production": "ck_live_"}
API_KEY_PREFIX = API_KEY_PREFIXES[ENVIRONMENT]
LOGIN_URL = "/account/login"
LOGIN_REDIRECT_URL = "/account/"
# Sign-up is open for all ("open"), requires an invitation ("invited"), or is closed ("closed").
SIGN_UP = environment.choice("SIGN_UP", "invited" if PRODUCTION else "open", ("open", "invited", "closed"))
ACCOUNT_ADAPTER = "identity.accounts.adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "identity.accounts.forms.LogInForm",
    "signup": "identity.accounts.forms.SignUpForm",
    "change_password": "identity.accounts.forms.PasswordForm",
    "set_password": "identity.accounts.forms.NewPasswordForm",
    "reset_password": "identity.accounts.forms.ForgottenPasswordForm",
    "reset_password_from_key": "identity.accounts.forms.ForgottenPasswordKeyForm",
    "reauthenticate": "identity.accounts.forms.PasswordAgainForm",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True  # only in the browser of the sign-up, within 15 minutes
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_SIGNUP_REDIRECT_URL = "/my/apply"
ACCOUNT_LOGOUT_REDIRECT_URL = "/account/login"
ACCOUNT_PASSWORD_MIN_LENGTH = None  # AUTH_PASSWORD_VALIDATORS checks the length
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_RATE_LIMITS = False  # RATE_LIMITS replaces these limits
PASSWORD_RESET_TIMEOUT = 3600
MFA_ADAPTER = "identity.accounts.adapter.SecondFactorAdapter"
MFA_FORMS = {
    "authenticate": "identity.accounts.forms.CodeForm",
    "reauthenticate": "identity.accounts.forms.CodeAgainForm",
    "activate_totp": "identity.accounts.forms.AddAppForm",
    "add_webauthn": "identity.accounts.forms.AddPasskeyForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn"]  # allauth's recovery codes are disabled, because allauth stores their seed
MFA_TOTP_ISSUER = PROVIDER_NAME
MFA_TOTP_TOLERANCE = 1  # accepts this number of 30 s steps before and after the current step
# Users without a confirmed address can't log in. Without this setting, users couldn't change their address.
MFA_ALLOW_UNVERIFIED_EMAIL = True
# The issuer for staff log-ins, and the mapping of its groups. With `STAFF_PASSWORDS`, staff can also use passwords. The
# break-glass account always has a password.
STAFF_OIDC = staff_environment.issuer_at("STAFF_OIDC", https_only=PRODUCTION)
STAFF_OIDC_GROUPS = staff_environment.mapped_groups("STAFF_OIDC_GROUPS")
STAFF_PASSWORDS = environment.flag("STAFF_PASSWORDS", default=STAFF_OIDC is None)
STAFF_BREAK_GLASS = environment.text("STAFF_BREAK_GLASS")
staff_environment.check(STAFF_OIDC, STAFF_OIDC_GROUPS, passwords=STAFF_PASSWORDS, break_glass=STAFF_BREAK_GLASS)
# Requires a second factor for staff.
BACKOFFICE_SECOND_FACTOR = environment.flag("BACKOFFICE_SECOND_FACTOR", default=PRODUCTION or STAFF_OIDC is not None)
SESSION_SERIALIZER = "config.core.log_in.SealedSessions"
SESSION_COOKIE_AGE = 1800
SESSION_SAVE_EVERY_REQUEST = True  # a session expires 30 minutes after the last request, not after the log-in
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True

# --- Mail --------------------------------------------------------------------------------------------------------

# Without EMAIL_URL, production sends no mail, and `doctor` reports this.
EMAIL_BACKEND, EMAIL_OPTIONS = mail_environment.email_backend("EMAIL_URL", default="" if PRODUCTION else "console:")
DEFAULT_FROM_EMAIL = environment.text("EMAIL_FROM", f"no-reply@{urlsplit(APP_URL).hostname}")
_ADDRESS = r"[^@\s<>]+@[^@\s<>]+"
environment.check(
    "EMAIL_FROM", [DEFAULT_FROM_EMAIL], rf"{_ADDRESS}|[^<>@]+<{_ADDRESS}>", "an email address, or a name and <address>"
)

# --- OAuth: django-oauth-toolkit implements the protocol, and the platform issues the tokens -----------------------

OAUTH2_PROVIDER_APPLICATION_MODEL = "identity.OAuthClient"
OAUTH2_PROVIDER = {
    "OAUTH2_VALIDATOR_CLASS": "identity.oauth.validator.PlatformValidator",
    "SCOPES_BACKEND_CLASS": "identity.oauth.clients.ClientScopes",
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 60,
    "CLIENT_SECRET_HASHER": "random_secret",
    "OIDC_ISS_ENDPOINT": HOST_ROOT,
    "ALLOWED_REDIRECT_URI_SCHEMES": ["https", "http"],  # `create_client` allows http only for loopback addresses
    "ALLOW_LOCALHOST_LOOPBACK": True,
    "ROTATE_REFRESH_TOKEN": True,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "OAUTH2_RESPONSE_TYPES_SUPPORTED": ["code"],
    "OAUTH2_GRANT_TYPES_SUPPORTED": ["authorization_code", "refresh_token"],
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,
    "COMPLIANT_BCP_RFC9700_REFRESH_TOKEN": True,
    "COMPLIANT_BCP_RFC9700_REDIRECT_URI_MATCHING": True,
}

# --- Transport ---------------------------------------------------------------------------------------------------

# These checks require middleware in MIDDLEWARE, which the platform has in PAGE_MIDDLEWARE.
SILENCED_SYSTEM_CHECKS = ["admin.E408", "admin.E409", "admin.E410", "security.W002", "security.W003"]
if PRODUCTION:
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 63_072_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    # The proxy rejects plain HTTP, because clients would send their credentials unencrypted before a redirect. Native
    # apps may use redirect URIs with `http` on the loopback interface (RFC 8252, section 7.3).
    SILENCED_SYSTEM_CHECKS += ["security.W008", "oauth2_provider.W008"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# The maximum size of all bodies, including back office forms. Endpoints have lower limits.
DATA_UPLOAD_MAX_MEMORY_SIZE = 67_108_864 if SERVICE == "ledger" else 2_621_440
# Only upload endpoints accept files of this size.
FILE_UPLOAD_MAX_BYTES = 10_485_760

# --- Files -------------------------------------------------------------------------------------------------------

_BY_MANIFEST = "config.ops.static_files.CollectedFiles"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": _BY_MANIFEST if PRODUCTION else "django.contrib.staticfiles.storage.StaticFilesStorage"},
    # Uploads are encrypted (see credit/documents/storage.py).
    "documents": documents_environment.document_storage("DOCUMENT_STORAGE", DOCUMENT_STORAGE),
}

# --- Static files ------------------------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [Path(__file__).parent / "static"]  # contains `brand.css` for all pages
WHITENOISE_USE_FINDERS = not PRODUCTION
if not PRODUCTION:
    STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # WhiteNoise warns if the folder is missing

# --- API ---------------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["identity.access.authentication.CredentialAuthentication"],
    "DEFAULT_PARSER_CLASSES": ["config.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["config.api.renderers.OrjsonRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "config.api.renderers.AnyAnswer",
    "DEFAULT_PERMISSION_CLASSES": ["config.api.permissions.HasScope"],
    "DEFAULT_THROTTLE_CLASSES": ["config.api.rate_limits.RateLimit"],
    "DEFAULT_SCHEMA_CLASS": "config.api.openapi.EndpointSchema",
    "EXCEPTION_HANDLER": "config.api.errors.render_exception",
    # `?format=` is an ordinary unknown parameter.
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}
API_VERSION = "1.0.0"
# The program and the API have separate versions.
RELEASE = tomllib.loads(Path(__file__).parent.with_name("pyproject.toml").read_text())["project"]["version"]
# `make docs` builds these files for /docs.
DOCS_ROOT = Path(__file__).resolve().parent.parent / "var" / "docs"
# The limits are per minute. If a limit has another period, its comment contains the period. docs/guides/rate-limits.md
# describes each limit.
RATE_LIMITS: dict[str, int | None] = {
    "read": 6_000,
    "write": 1_800,
    "payment": 120,
    "token": 60,
    "upload": 60,
    "login_failure": 10,  # failures per 15 minutes
    "login_name": 100,  # failures per hour
    "mail_recipient": 10,  # mails to a recipient per hour that any account or stranger can request
    "mail_own": 60,  # mails to a recipient per hour about the recipient's own account or applications
    "mail_address": 30,  # mails per hour that an IP address requests
    "mail_account": 100,  # mails per hour to addresses that an account enters, for example for invitations
    "new_account": 20,  # accounts per hour and IP address
    "anonymous": 600,
    "health": None,  # the counter requires the database, and health must respond without it
    "ledger_write": 6_000,  # entries per key in LEDGER_API_KEYS, or per IP address in development
    "ledger_token": 60,  # entries per account of the platform
}
SPECTACULAR_SETTINGS = {
    "OAS_VERSION": "3.1.1",
    "TITLE": f"{PROVIDER_NAME} {'ledger' if SERVICE == 'ledger' else 'API'}",
    "VERSION": API_VERSION,
    "CONTACT": {"name": PROVIDER_NAME, "url": HOST_ROOT},
    "LICENSE": {"name": "MIT", "identifier": "MIT"},
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "COMPONENT_SPLIT_PATCH": False,
    "POSTPROCESSING_HOOKS": [
        "config.api.openapi.complete_document",
        "config.webhooks.openapi.add_webhooks",
        "identity.oauth.openapi.add_oauth",
        "credit.api.shapes.add_shapes",
    ],
}

# --- Time, language, logs ----------------------------------------------------------------------------------------

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = True  # mails, notices, `/my`, and `/account/` are translated; other pages are in LANGUAGE_CODE
# The cookie contains the language that a visitor chose, and ends with the browser's session.
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SECURE = PRODUCTION
LANGUAGES = [("en", "English"), ("es", "Español"), ("de", "Deutsch")]
FORMAT_MODULE_PATH = ["config.backoffice.formats"]

# Enables a log line per request with the caller, operation, status, and duration.
ACCESS_LOG = environment.flag("ACCESS_LOG", default=PRODUCTION)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "config.core.context.RequestIdFilter"}},
    "formatters": {
        "json": {"()": "config.ops.logs.JsonLines"},
        "line": {"()": "config.ops.logs.ReadableLines"},
        "audit": {"format": "%(message)s"},
    },
    "handlers": {
        "console": {
            "class": "config.ops.logs.StandardError",
            "filters": ["request_id"],
            "formatter": "json" if PRODUCTION else "line",
        },
        "audit": {"class": "config.ops.logs.AuditLines", "formatter": "audit" if PRODUCTION else "line"},
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        # 4xx responses matter only to the caller. 5xx responses are logged where the error occurs.
        "django.request": {"level": "CRITICAL"},
        # These lines quote the path, the host, or the session of a request.
        "django.security": {"level": "CRITICAL"},
        "platform": {"level": "INFO"},
        "platform.audit": {"handlers": ["audit"], "level": "INFO", "propagate": False},
    },
}

for _sentence in environment.misspelt():
    if PRODUCTION:
        raise ImproperlyConfigured(_sentence)
    warnings.warn(_sentence, stacklevel=1)
