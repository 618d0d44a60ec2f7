"""The declarations of an app for the shared code, as attributes of its AppConfig.

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

# The dotted path of a collection or a mapping within the app, or a tuple with the path of each member. It is imported
# at its first use.
Places = str | tuple[str, ...]


class Declarations:
    """All possible declarations; an AppConfig sets those that it needs.

    An app that other apps extend defines its own declarations and reads them with `declared` (`staged_kinds`, `facts`).
    """

    event_types: ClassVar[Places] = ()  # each an `EventFamily`
    # Names in the discovery document, each with the setting that enables it; "" for no setting.
    capabilities: ClassVar[Mapping[str, str]] = {}
    # Functions `seed(consumer=…, staff=…, now=…)` that create the app's demo records for these two accounts, with the
    # ids of `config.ops.demo_ids`. They skip existing records, which may now belong to other accounts. A function must
    # not read other apps' demo records, so that the order does not matter.
    demo: ClassVar[Places] = ()
    personal_data: ClassVar[Places] = ()  # a `privacy.Table` for every table, by the model's label
    # Steps of an erasure, each called with the account's id and `now`; idempotent. First the steps that end tokens at
    # vendors, then the steps for data that the register of personal data can't find.
    vendor_tokens: ClassVar[Places] = ()
    erasure_steps: ClassVar[Places] = ()
    # By the name of a ground: a function of the account's id and `now`. It returns the end of the ground by the
    # record's key (None for the whole account); an unknown end is None.
    erasure_grounds: ClassVar[Places] = ()
    account_not_erased: ClassVar[Places] = ()  # functions of the account's id: return the reason, or ""
    mail_addresses: ClassVar[Places] = ()  # functions that return an account's own mail addresses
    # by the kind of a consent: the function that ends it, called with the consent, `actor` and `now`
    consent_endings: ClassVar[Places] = ()
    # By the kind of a consent: `consent_names` has the SQL expression for the name of its bank or lender,
    # `consent_references` the function that returns the reference of its application.
    consent_names: ClassVar[Places] = ()
    consent_references: ClassVar[Places] = ()
    erase_subject: ClassVar[Places] = ()  # functions that erase a `user_id` for the command, and return counts
    # functions that yield further files of a person's copy of their data: name, content, and the label of the table
    export_parts: ClassVar[Places] = ()
    # by a table's label: the function that returns the values of a row that differ in the copy
    export_values: ClassVar[Places] = ()
    prune_rules: ClassVar[Places] = ()  # each a `Rule` that selects expired rows; a table without a rule is not pruned
    # functions for other work that becomes due: called with `now`, return counts by name
    prune_tasks: ClassVar[Places] = ()
    readings: ClassVar[Places] = ()  # (model, `Measure`): numbers for `/metrics` from the model's database
    # a `Part` by its name: data that a backup must include in addition to databases and secrets
    backup_parts: ClassVar[Places] = ()
    sandbox: ClassVar[Places] = ()  # each a `SandboxRecords`; other columns do not move with the clock
    # The look of statuses in the back office: `good`, `bad`, `wait` (for staff), and `ask` (for another party).
    tones: ClassVar[Places] = ()
    console_pages: ClassVar[Places] = ()  # each a `ConsolePage`, a main link of the console
    queues: ClassVar[Places] = ()  # each a `Queue`
    consoles: ClassVar[Places] = ()  # functions that return an account's rights in lender consoles: `consoles.Seat`
    console_rules: ClassVar[Places] = ()  # by a model's label: the `consoles.Rule` of its rows for lenders
    console_permissions: ClassVar[Places] = ()  # permissions of the members who decide for a lender
    console_deciders: ClassVar[Places] = ()  # functions that return whether an account decides for a lender
    charts: ClassVar[Places] = ()  # each has a `permission`, and `drawn()`, the content for `admin/index.html`
    encrypted: ClassVar[Places] = ()  # each a `Column` of encrypted values without an EncryptedTextField
    blind_indexes: ClassVar[Places] = ()  # functions that recompute an index with the first key
    error_forms: ClassVar[Places] = ()  # functions `write(request, response)` that convert an error's format
    session_ends: ClassVar[Places] = ()  # functions `ended(request, user)` that return whether a page session must end
    # By a mail's template: a function that returns the final template and context when the mail is sent. So the request
    # that queues the mail does the same work for known and unknown addresses.
    mail_makers: ClassVar[Places] = ()
    # functions `find(typed, viewer)` that return the ids of people with this name, e-mail address or phone number,
    # among the records that the viewer may see
    person_finders: ClassVar[Places] = ()
    person_lines: ClassVar[Places] = ()  # each a `Lines`: lines about a person on their page
    timeline_sources: ClassVar[Places] = ()  # each a `Source`: entries about a person for other apps' timelines


@cache
def declared(what: str) -> list[Any]:
    """Return the declarations of all apps under a name, in the order of INSTALLED_APPS; mappings as their items."""
    members: list[Any] = []
    for app in apps.get_app_configs():
        declaration: Any = getattr(app, what, ()) if isinstance(app, Declarations) else ()
        if isinstance(declaration, str):
            declaration = import_string(f"{app.name}.{declaration}")
        elif isinstance(declaration, tuple):
            declaration = [import_string(f"{app.name}.{place}") for place in declaration]
        members += declaration.items() if isinstance(declaration, Mapping) else declaration
    return members
