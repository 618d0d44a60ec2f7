from django.apps import AppConfig
from django.conf import settings

from config.core.registration import Declarations


class CreditConfig(Declarations, AppConfig):
    name = "credit"

    personal_data = "privacy.TABLES"
    event_types = "core.events.FAMILIES"
    capabilities = {
        **dict.fromkeys(("applications", "catalog", "documents", "offers", "quotes", "scoring"), ""),
        "decision_proofs": "ANCHOR_DECISIONS",
    }
    demo = ("demo.seeding.seed",)
    failed_item_models = {
        **dict.fromkeys(("automatic_decision", "idle_application", "waiting_score"), "credit.application"),
        **dict.fromkeys(("notice", "notice_mail"), "credit.notice"),
        "notice_clock": "credit.clock",
        "record": "credit.decisionanchor",
    }
    invitation_roles = "offers.member_roles.ROLES"
    account_time_zone = ("my.pages.tzinfo_of_user",)
    account_not_acted_for = ("offers.providers.delegation_refusal",)
    erasure_steps = ("erasure.delete_files",)
    erasure_grounds = "erasure.GROUNDS"
    account_not_erased = ("erasure.open_applications",)
    export_values = "export.COPIED_VALUES"
    export_parts = ("export.uploaded_files", "export.rendered_notices", "export.rendered_agreements")
    consent_names = "applications.consents.NAMES"
    consent_references = "applications.consents.REFERENCES"
    consent_endings = ("notices.services.CONSENT_ENDING", "applications.services.CONSENT_ENDING")
    prune_rules = ("offers.providers.ENDED_INVITATIONS", "applications.services.UNUSED_APPLICANTS")
    prune_tasks = (
        "documents.storage.delete_abandoned", "documents.storage.delete_files_of_ended_drafts",
        "notices.retention.erase_expired", "applications.services.index_changed_applicants",
        "applications.services.follow_sharing",
    )  # fmt: skip
    readings = ("scoring.metrics.READING",)
    backup_parts = "documents.storage.BACKUP_PARTS"
    sandbox_timers = "sandbox_records.TIMERS"
    sandbox_workers = ("sandbox_records.expire", "sandbox_records.make_notices")
    tones = "console.queues.TONES"
    console_pages = "console.people.PAGES"
    queues = (
        "console.queues.REVIEW", "console.queues.DOCUMENTS", "console.queues.COUNTEROFFERS", "console.queues.ANCHORS",
        "console.notices.NOTICE_DEADLINES", "console.notices.RECONSIDERATIONS", "console.facts.QUEUE",
        "console.records.QUEUE",
    )  # fmt: skip
    consoles = ("console.lender_console.seats_of",)
    closed_consoles = ("offers.member_roles.closed_console",)
    console_rules = "console.lender_console.RULES"
    console_permissions = "console.lender_console.PERMISSIONS"
    console_deciders = ("console.lender_console.decides",)
    charts = "console.charts.CHARTS"
    blind_indexes = ("applications.services.index_applicants", "reports.services.index_persons")
    person_finders = ("console.people.find_people",)
    person_lines = ("console.people.LINES",)
    person_tables = ("console.people.applications_about",)
    error_forms = ("api.commerce.refusals.write_for_agent",)
    facts = "scoring.known_facts.FACTS"

    def ready(self) -> None:
        from config.core import prepared
        from config.ops.checks import DOCTOR, START, register
        from credit.anchoring.record_keys import check_ledger_access, check_record_key
        from credit.core.agencies import check_notice_agency
        from credit.documents import scanning, storage
        from credit.following import OF_APPLICATIONS, OF_MODEL_VERSIONS
        from credit.models import Application, ModelVersion
        from credit.offers.providers import check_provider_names
        from credit.offers.services import check_offer_names
        from credit.review.services import close_on_change

        Application.set_followers(OF_APPLICATIONS, update_row=prepared.update, insert_row=prepared.insert)
        ModelVersion.set_followers(OF_MODEL_VERSIONS)
        close_on_change()
        if settings.SERVICE == "platform":
            register(check_ledger_access, DOCTOR)
            register(storage.check_document_storage, DOCTOR)
            register(scanning.check_document_scanner, DOCTOR)
            register(check_provider_names, DOCTOR)
            register(check_offer_names, DOCTOR)
            register(check_record_key, DOCTOR, START)
            register(check_notice_agency, DOCTOR, START)
