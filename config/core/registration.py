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

# A dotted path within the app, or a tuple of paths. Each path is imported at its first use.
Places = str | tuple[str, ...]


class Declarations:
    """All possible declarations.

    If other apps extend an app, this app defines the attribute, such as `staged_kinds` or `facts`, and reads it with
    `declared`.
    """

    event_types: ClassVar[Places] = ()  # a list of `EventFamily`
    # Maps each capability of the discovery document to the setting that enables the capability ("" if always enabled).
    capabilities: ClassVar[Mapping[str, str]] = {}
    # Functions `seed(consumer=…, staff=…, now=…)` create the app's demo records with the IDs of `config.ops.demo_ids`.
    # They skip existing records. Their order is undefined, so they must not read other apps' demo records.
    demo: ClassVar[Places] = ()
    # Maps the kind of a failed item to the label of its model. The model's back office page shows the record.
    failed_item_models: ClassVar[Mapping[str, str]] = {}
    personal_data: ClassVar[Places] = ()  # maps each model's label to a `privacy.Table`
    # Functions for the steps of an erasure. Their arguments are the account ID and `now`. They are idempotent.
    # `vendor_tokens` revokes tokens at vendors. `erasure_steps` erases data that the register of personal data can't
    # find.
    vendor_tokens: ClassVar[Places] = ()
    erasure_steps: ClassVar[Places] = ()
    # Maps a retention ground to a function with the arguments account ID and `now`. The function returns the type
    # `Ends` of `config.core.erasure`.
    erasure_grounds: ClassVar[Places] = ()
    # Functions that yield each reason why an account can't be erased yet, and the end of the reason (None if unknown).
    account_not_erased: ClassVar[Places] = ()
    account_time_zone: ClassVar[Places] = ()  # functions that return the time zone of the dates for an account
    mail_addresses: ClassVar[Places] = ()  # functions that return an account's own mail addresses
    # Maps the kind of a consent to the function that ends the consent. Its arguments are the consent, `actor`, and
    # `now`.
    consent_endings: ClassVar[Places] = ()
    # Both mappings have kinds of consents as keys. A value of `consent_names` is an SQL expression for the name of the
    # bank or lender. A value of `consent_references` is a function that returns the application's reference.
    consent_names: ClassVar[Places] = ()
    consent_references: ClassVar[Places] = ()
    # Functions for the command `erase_subject`: each erases the data of a `user_id`, and returns counts.
    erase_subject: ClassVar[Places] = ()
    # Functions that yield further files of an export, each as (name, content, label of the table).
    export_parts: ClassVar[Places] = ()
    # Maps a table's label to a function of a row. The function returns the values that replace stored values in the
    # export.
    export_values: ClassVar[Places] = ()
    # Maps the name of a count to a function that selects the expired rows at a time. Other tables are not pruned.
    prune_rules: ClassVar[Places] = ()
    # Functions for due work other than deletions. The argument is `now`, and the result maps names to counts.
    prune_tasks: ClassVar[Places] = ()
    readings: ClassVar[Places] = ()  # pairs `(model, Measure)` of numbers for `/metrics` from the model's database
    # For backups of data in addition to databases, guard file, and secrets. Maps a name to two functions. The first
    # function returns the current state of the data. The second function returns a message for each file that is
    # missing on this machine.
    backup_parts: ClassVar[Places] = ()
    sandbox_timers: ClassVar[Places] = ()  # a list of `Timer`, the columns that move with the sandbox clock
    # Functions that process due items after each step of the clock. The argument is `now`, and the result maps names to
    # counts.
    sandbox_workers: ClassVar[Places] = ()
    # Maps statuses to their color in the back office: `good`, `bad`, `wait` (for staff), or `ask` (for others).
    tones: ClassVar[Places] = ()
    console_pages: ClassVar[Places] = ()  # a list of `ConsolePage`, the main links of the console
    queues: ClassVar[Places] = ()  # a list of `Queue`
    consoles: ClassVar[Places] = ()  # functions that return an account's rights in lender consoles: `consoles.Seat`
    closed_consoles: ClassVar[Places] = ()  # functions that return the reason why an account has no console, or ""
    console_rules: ClassVar[Places] = ()  # maps a model's label to the `consoles.Rule` of its rows for lenders
    console_permissions: ClassVar[Places] = ()  # permissions of the members who decide for a lender
    console_deciders: ClassVar[Places] = ()  # functions that return whether an account decides for a lender
    charts: ClassVar[Places] = ()  # objects with a `permission`, and `drawn()`, the content for `admin/index.html`
    encrypted: ClassVar[Places] = ()  # a list of `Column`, for encrypted values without an EncryptedTextField
    blind_indexes: ClassVar[Places] = ()  # functions that recompute an index with the first key
    error_forms: ClassVar[Places] = ()  # functions `write(request, response)` that convert an error's format
    session_ends: ClassVar[Places] = ()  # functions `ended(request, user)` that return whether a page session must end
    # Maps a mail's template to a function that returns the final template and context. The function runs when the mail
    # is sent, so requests take equally long for known and unknown addresses.
    mail_makers: ClassVar[Places] = ()
    # Functions `find(typed, viewer)` that return account IDs. The accounts have the typed name, email address, or phone
    # number, and the viewer may see them.
    person_finders: ClassVar[Places] = ()
    person_lines: ClassVar[Places] = ()  # functions that return lines about an account for its page (`people.Line`)
    case_lines: ClassVar[Places] = ()  # functions that return lines about an account for pages of other apps' records
    person_tables: ClassVar[Places] = ()  # functions `table(person_id, viewer)` that return a `people.Table`, or None
    timeline_sources: ClassVar[Places] = ()  # a list of `Source`, entries about an account for other apps' timelines


@cache
def declared(attribute: str) -> list[Any]:
    """Return all apps' declarations for an attribute in the order of INSTALLED_APPS, with mappings as items."""
    members: list[Any] = []
    for app in apps.get_app_configs():
        declaration: Any = getattr(app, attribute, ()) if isinstance(app, Declarations) else ()
        if isinstance(declaration, str):
            declaration = import_string(f"{app.name}.{declaration}")
        elif isinstance(declaration, tuple):
            declaration = [import_string(f"{app.name}.{place}") for place in declaration]
        members += declaration.items() if isinstance(declaration, Mapping) else declaration
    return members
