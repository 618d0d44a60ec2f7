"""Declarations with which an app registers functions and data for the shared code, as attributes of its AppConfig.

class ClaimsConfig(Declarations, AppConfig):
    name = "claims"
    event_types = "events.FAMILIES"
    demo = ("demo.seed",)
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from django.apps import apps
from django.utils.module_loading import import_string

# The dotted path of a collection or a mapping within the app, or a tuple with the path of each item. Each path is
# imported at its first use.
Places = str | tuple[str, ...]


class Declarations:
    """All possible declarations; an AppConfig sets those that it needs.

    An app that other apps extend defines its own declarations and reads them with `declared` (`staged_kinds`, `facts`).
    """

    event_types: ClassVar[Places] = ()  # a list of `EventFamily`
    # The names of capabilities in the discovery document, each with the setting that enables it ("" if always enabled).
    capabilities: ClassVar[Mapping[str, str]] = {}
    # Functions `seed(consumer=…, staff=…, now=…)` that create the app's demo records for these two accounts, with the
    # ids of `config.ops.demo_ids`. They skip existing records, which may now belong to other accounts. A function must
    # not read other apps' demo records, so that the order does not matter.
    demo: ClassVar[Places] = ()
    # Maps the kind of a failed item to the label of the model whose back office page shows the failed record.
    failed_item_models: ClassVar[Mapping[str, str]] = {}
    personal_data: ClassVar[Places] = ()  # maps each model's label to a `privacy.Table`
    # Idempotent steps of an erasure, each called with the account's id and `now`. `vendor_tokens` revokes tokens at
    # vendors. The other steps erase data that the register of personal data can't find.
    vendor_tokens: ClassVar[Places] = ()
    erasure_steps: ClassVar[Places] = ()
    # Maps the name of a ground to a function of the account's id and `now`. The function returns the end of the ground
    # by the record's key, which is None for the account as a whole. An unknown end is None.
    erasure_grounds: ClassVar[Places] = ()
    # Functions that yield each reason against an account's erasure, with its end, or None if the end is unknown.
    account_not_erased: ClassVar[Places] = ()
    account_time_zone: ClassVar[Places] = ()  # functions that return the time zone of the dates for an account
    mail_addresses: ClassVar[Places] = ()  # functions that return an account's own mail addresses
    # Maps the kind of a consent to the function that ends it, which is called with the consent, `actor`, and `now`.
    consent_endings: ClassVar[Places] = ()
    # The keys of `consent_names` and `consent_references` are kinds of consents. The value in `consent_names` is the
    # SQL expression for the name of the bank or lender. The value in `consent_references` is the function that returns
    # the application's reference.
    consent_names: ClassVar[Places] = ()
    consent_references: ClassVar[Places] = ()
    erase_subject: ClassVar[Places] = ()  # functions that erase a `user_id` for the command, and return counts
    # Functions that yield further files for a copy of an account's data: name, content, and the label of the table.
    export_parts: ClassVar[Places] = ()
    # Maps a table's label to the function that returns the values of a row that differ in the copy.
    export_values: ClassVar[Places] = ()
    prune_rules: ClassVar[Places] = ()  # a list of `Rule`, which selects expired rows; other tables are not pruned
    # Functions for other work that becomes due. They are called with `now`, and return counts by name.
    prune_tasks: ClassVar[Places] = ()
    readings: ClassVar[Places] = ()  # pairs `(model, Measure)` of numbers for `/metrics` from the model's database
    # Maps a name to a `Part`, data that a backup must include in addition to databases and secrets.
    backup_parts: ClassVar[Places] = ()
    sandbox: ClassVar[Places] = ()  # a list of `SandboxRecords`, the columns that move with the sandbox clock
    # Maps statuses to their color in the back office: `good`, `bad`, `wait` (for staff), or `ask` (for another party).
    tones: ClassVar[Places] = ()
    console_pages: ClassVar[Places] = ()  # a list of `ConsolePage`, the main links of the console
    queues: ClassVar[Places] = ()  # a list of `Queue`
    consoles: ClassVar[Places] = ()  # functions that return an account's rights in lender consoles: `consoles.Seat`
    closed_consoles: ClassVar[Places] = ()  # functions that return why a member of a lender has no console, or ""
    console_rules: ClassVar[Places] = ()  # maps a model's label to the `consoles.Rule` of its rows for lenders
    console_permissions: ClassVar[Places] = ()  # permissions of the members who decide for a lender
    console_deciders: ClassVar[Places] = ()  # functions that return whether an account decides for a lender
    charts: ClassVar[Places] = ()  # objects with a `permission`, and `drawn()`, the content for `admin/index.html`
    encrypted: ClassVar[Places] = ()  # a list of `Column`, for encrypted values without an EncryptedTextField
    blind_indexes: ClassVar[Places] = ()  # functions that recompute an index with the first key
    error_forms: ClassVar[Places] = ()  # functions `write(request, response)` that convert an error's format
    session_ends: ClassVar[Places] = ()  # functions `ended(request, user)` that return whether a page session must end
    # Maps a mail's template to a function that returns the final template and context when the mail is sent. So a
    # request that queues a mail does the same work for known and unknown addresses.
    mail_makers: ClassVar[Places] = ()
    # Functions `find(typed, viewer)` that return the ids of accounts with this name, email address, or phone number,
    # among the records that the viewer may see.
    person_finders: ClassVar[Places] = ()
    person_lines: ClassVar[Places] = ()  # a list of `Lines`, the lines about an account on the account's page
    person_tables: ClassVar[Places] = ()  # functions `table(person_id, viewer)` that return a `people.Table`, or None
    timeline_sources: ClassVar[Places] = ()  # a list of `Source`, entries about an account for other apps' timelines


@cache
def declared(what: str) -> list[Any]:
    """Return all apps' declarations for an attribute in the order of INSTALLED_APPS, a mapping as its items."""
    members: list[Any] = []
    for app in apps.get_app_configs():
        declaration: Any = getattr(app, what, ()) if isinstance(app, Declarations) else ()
        if isinstance(declaration, str):
            declaration = import_string(f"{app.name}.{declaration}")
        elif isinstance(declaration, tuple):
            declaration = [import_string(f"{app.name}.{place}") for place in declaration]
        members += declaration.items() if isinstance(declaration, Mapping) else declaration
    return members
