from django.apps import AppConfig
from django.conf import settings

from config.core.registration import Declarations


class IdentityConfig(Declarations, AppConfig):
    name = "identity"

    personal_data = "privacy.TABLES"
    error_forms = ("accounts.error_pages.write_for_browser",) if settings.SERVICE == "platform" else ()
    event_types = "events.FAMILIES"
    capabilities = {
        **dict.fromkeys(("api_keys", "signed_requests", "oauth", "accounts", "invitations"), ""),
        **dict.fromkeys(("identity", "bank_data"), "OPEN_BANKING"),
    }
    demo = ("demo.seed",)
    failed_item_models = {
        **dict.fromkeys(("bank_item", "unlinked_bank_item"), "identity.bankitem"),
        "api_key": "identity.apikey",
        "verification": "identity.kycverification",
    }
    encrypted = ("accounts.codes.SECRETS", "accounts.codes.SEEDS") if settings.SERVICE == "platform" else ()
    prune_rules = "pruning.RULES" if settings.SERVICE == "platform" else ()  # the ledger has no accounts
    prune_tasks = (
        "access.keys.announce_expiring", "accounts.seeds.hash_late_codes", "kyc.services.expire_verifications",
        *(("accounts.consents.end_unused_apps", "accounts.erasure.erase_kept") * (settings.SERVICE == "platform")),
    )  # fmt: skip
    vendor_tokens = ("bank.services.remove_items",)
    erasure_steps = (
        "accounts.erasure.end_sessions", "accounts.managed.end_access_to_erased",
        "accounts.exports.delete_exports",
    )  # fmt: skip
    erasure_grounds = "accounts.erasure.GROUNDS"
    mail_addresses = ("accounts.erasure.addresses_of",)
    backup_parts = "accounts.erasure_log.BACKUP_PARTS" if settings.SERVICE == "platform" else ()
    consent_names = "bank.consents.NAMES"
    consent_endings = ("accounts.consents.ENDING", "bank.services.CONSENT_ENDING")
    erase_subject = ("accounts.erasure.erase_subject",) if settings.SERVICE == "platform" else ()
    readings = ("metrics.READING",)
    sandbox_timers = "sandbox_records.TIMERS"
    sandbox_workers = ("sandbox_records.forget_checks",)
    tones = "kyc.machine.TONES"
    console_pages = "admin.PAGES"
    queues = ("access.admin.QUEUE", "kyc.admin.QUEUE")
    person_lines = ("kyc.admin.LINES", "bank.admin.accounts_of", "access.admin.keys_of")
    mail_makers = "accounts.forms.MAIL_MAKERS"
    session_ends = ("oidc.services.session_ended",) if settings.SERVICE == "platform" else ()
    invitation_roles = "accounts.roles.ROLES"
    staged_kinds = "bank.staged.KINDS"

    def ready(self) -> None:
        from django.db.models.signals import post_delete

        from config import checks  # noqa: F401  the import registers the checks
        from identity.access import authentication, tokens

        authentication.forget_on_change()
        if settings.SERVICE == "platform":  # the ledger has no accounts and doesn't install allauth
            from allauth.mfa.models import Authenticator

            from config.ops.checks import DOCTOR, START, register
            from identity.access import audited
            from identity.accounts.erasure_log import check_erasures
            from identity.accounts.names import check_user_names
            from identity.accounts.recovery import delete_with_last_authenticator
            from identity.oauth.clients import check_client_names

            audited.follow()
            register(check_user_names, DOCTOR)
            register(check_client_names, DOCTOR)
            register(check_erasures, DOCTOR, START)

            for follow in (tokens.end_log_ins_of_device, delete_with_last_authenticator):
                post_delete.connect(follow, sender=Authenticator, dispatch_uid=follow.__name__)
