"""An app's declarations for the shared code: attributes of its AppConfig, which the shared code reads.

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

# The place of a collection or a mapping, from the app on; or a tuple with the place of each member. It is imported at
# its first use.
Places = str | tuple[str, ...]


class Declarations:
    """The possible declarations; an AppConfig sets those that it has.

    Apps that others build on read their own declarations with `declared` (`staged_kinds`, `facts`).
    """

    event_types: ClassVar[Places] = ()  # each an `EventFamily`
    # Names in the discovery document, each with the setting that switches it on; "" for none.
    capabilities: ClassVar[Mapping[str, str]] = {}
    # Makes demo data: `seed(consumer=…, staff=…, now=…)` makes the app's records for these two accounts unless they are
    # there, under the ids of `config.ops.demo_ids`: what has such an id may belong to another account by now. The
    # function reads no records of the others, so the order does not matter.
    demo: ClassVar[Places] = ()
    personal_data: ClassVar[Places] = ()  # by the label of a model its `privacy.Table`, for every table
    # Steps of an erasure, each called with the account's id and `now`, and safe to run twice. First those that end
    # tokens at vendors. Then those that erase what the register of personal data can't find.
    vendor_tokens: ClassVar[Places] = ()
    erasure_steps: ClassVar[Places] = ()
    # by the name of a ground: a function of the account's id and `now`. It returns when each record's ground ends, by
    # the record's key (None for the whole account); a ground without a known end has None.
    erasure_grounds: ClassVar[Places] = ()
    account_not_erased: ClassVar[Places] = ()  # each a function of the account's id: a sentence, or "" if none applies
    mail_addresses: ClassVar[Places] = ()  # each returns the mail addresses that are an account's own
    # each a kind of consent, and what ends it: called with the consent, `actor` and `now`
    consent_endings: ClassVar[Places] = ()
    # By a kind of consent: the expression of the name that a person knows its bank or lender by, and what returns the
    # reference of its application from the consent's `reference`.
    consent_names: ClassVar[Places] = ()
    consent_references: ClassVar[Places] = ()
    erase_subject: ClassVar[Places] = ()  # each erases a `user_id` for the command, and returns counts
    # each yields what a person's copy of their data has next to the rows: name, content, and the label of its table
    export_parts: ClassVar[Places] = ()
    # by a table's label what returns the values of a row that differ in the copy
    export_values: ClassVar[Places] = ()
    prune_rules: ClassVar[Places] = ()  # each a `Rule` of which rows have an end; those of a table without one are kept
    # further work that falls due with time: called with `now`, returns its counts by name
    prune_tasks: ClassVar[Places] = ()
    readings: ClassVar[Places] = ()  # (model, `Measure`): numbers of `/metrics`, from the model's database
    # a `Part` by its name: data that a backup must hold in addition to databases and secrets
    backup_parts: ClassVar[Places] = ()
    sandbox: ClassVar[Places] = ()  # each a `SandboxRecords`; columns that none names stand still
    # How statuses look at the back office: `good`, `bad`, `wait` (for us), and `ask` (for another party).
    tones: ClassVar[Places] = ()
    console_pages: ClassVar[Places] = ()  # each a `ConsolePage`: a main link of the console
    queues: ClassVar[Places] = ()  # each a `Queue`
    consoles: ClassVar[Places] = ()  # each returns an account's seats in the consoles of lenders: `consoles.Seat`
    console_rules: ClassVar[Places] = ()  # by a model's label what a lender's people see of it: a `consoles.Rule`
    console_permissions: ClassVar[Places] = ()  # actions on records that members who decide for a lender may see
    console_deciders: ClassVar[Places] = ()  # each returns the condition that one column's account decides for a lender
    charts: ClassVar[Places] = ()  # each has a `permission`, and `drawn()`: what `admin/index.html` shows
    encrypted: ClassVar[Places] = ()  # each a `Column` of encrypted values without an EncryptedTextField
    blind_indexes: ClassVar[Places] = ()  # each is computed again with the first key when called
    error_forms: ClassVar[Places] = ()  # each `write(request, response)`: gives an error the form that its caller reads
    session_ends: ClassVar[Places] = ()  # each `ended(request, user)`: whether a logged-in page session must end
    # By a mail's template: returns the template and context for a recipient when the mail is sent. The request that
    # queues it does the same for known and unknown addresses.
    mail_makers: ClassVar[Places] = ()
    # each `find(typed, viewer)` returns the ids of people with this name, e-mail address or phone number, as far as the
    # viewer may see their records
    person_finders: ClassVar[Places] = ()
    person_lines: ClassVar[Places] = ()  # each a `Lines`: what tells of a person on their page
    timeline_sources: ClassVar[Places] = ()  # each a `Source`: what other apps' timelines show of a record's person


@cache
def declared(what: str) -> list[Any]:
    """Return what the apps declare under a name, together, in the order of INSTALLED_APPS; mappings as their items."""
    members: list[Any] = []
    for app in apps.get_app_configs():
        declaration: Any = getattr(app, what, ()) if isinstance(app, Declarations) else ()
        if isinstance(declaration, str):
            declaration = import_string(f"{app.name}.{declaration}")
        elif isinstance(declaration, tuple):
            declaration = [import_string(f"{app.name}.{place}") for place in declaration]
        members += declaration.items() if isinstance(declaration, Mapping) else declaration
    return members
