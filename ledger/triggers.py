"""SQL triggers that make the log's tables append-only. They permit only two kinds of changes.

An erasure removes an entry's nonce, user, and type. Growth appends bytes to a tile. To rewrite history, an attacker
must first drop these triggers, and `verify_ledger` still detects the change.
"""

TABLES = ("ledger_block", "ledger_entry", "ledger_tile", "ledger_cosignature")

_ENTRY_UNCHANGED = " AND ".join(
    f'NEW."{column}" = OLD."{column}"' for column in ("index", "leaf_hash", "hash", "commitment", "block_number")
)
_ENTRY_ERASED = "NEW.nonce IS NULL AND NEW.user_id IS NULL AND NEW.report_type IS NULL"
_TILE_GROWN = (
    'NEW.level = OLD.level AND NEW."index" = OLD."index" AND length(NEW.hashes) > length(OLD.hashes) '
    "AND substr(NEW.hashes, 1, length(OLD.hashes)) = OLD.hashes"
)
_ALLOWED_UPDATE = {
    "ledger_block": "",
    "ledger_entry": f"{_ENTRY_UNCHANGED} AND {_ENTRY_ERASED}",
    "ledger_tile": _TILE_GROWN,
    "ledger_cosignature": "",
}
_KEYS = {
    "ledger_block": ("number",),
    "ledger_entry": ("index",),
    "ledger_tile": ("level", "index"),
    "ledger_cosignature": ("block_number", "timestamp", "witness"),
}


def _postgresql_create() -> list[str]:
    """Return the SQL for functions, triggers, and `ENABLE ALWAYS`, so that no session role skips the triggers."""
    statements = [
        """CREATE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
                USING ERRCODE = 'integrity_constraint_violation';
        END $$""",
        # TRUNCATE of an empty table is permitted, because it changes nothing.
        """CREATE FUNCTION ledger_refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE filled boolean;
        BEGIN
            EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.%I)', TG_TABLE_SCHEMA, TG_TABLE_NAME) INTO filled;
            IF filled THEN
                RAISE EXCEPTION '% is append-only: TRUNCATE refused', TG_TABLE_NAME
                    USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NULL;
        END $$""",
    ]
    for table in TABLES:
        allowed = _ALLOWED_UPDATE[table]
        condition = f"WHEN (({allowed}) IS NOT TRUE)" if allowed else ""
        events = {
            "update": f"BEFORE UPDATE ON {table} FOR EACH ROW {condition} EXECUTE FUNCTION ledger_refuse()",
            "delete": f"BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION ledger_refuse()",
            "truncate": f"BEFORE TRUNCATE ON {table} EXECUTE FUNCTION ledger_refuse_truncate()",
        }
        for event, action in events.items():
            statements.append(f"CREATE TRIGGER {table}_no_{event} {action}")
            statements.append(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_{event}")
    # Store tiles uncompressed outside of the row, because hashes don't compress, and each block rewrites a tile.
    statements.append("ALTER TABLE ledger_tile ALTER COLUMN hashes SET STORAGE EXTERNAL")
    return statements


def _postgresql_drop() -> list[str]:
    statements = [
        f"DROP TRIGGER {table}_no_{change} ON {table}"
        for table in TABLES
        for change in ("update", "delete", "truncate")
    ]
    return [*statements, "DROP FUNCTION ledger_refuse()", "DROP FUNCTION ledger_refuse_truncate()"]


def _sqlite_create() -> list[str]:
    """Return the triggers for SQLite.

    `INSERT OR REPLACE` needs its own trigger, because it does not fire delete triggers.
    """
    statements = []
    for table in TABLES:
        refuse = f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        allowed = _ALLOWED_UPDATE[table]
        same_key = " AND ".join(f'"{column}" = NEW."{column}"' for column in _KEYS[table])
        condition = f"WHEN ({allowed}) IS NOT TRUE" if allowed else ""
        exists = f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same_key})"  # noqa: S608
        statements += [
            f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} {condition} {refuse}",
            f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {refuse}",
            f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} {exists} {refuse}",
        ]
    return statements


def _sqlite_drop() -> list[str]:
    return [f"DROP TRIGGER {table}_no_{change}" for table in TABLES for change in ("update", "delete", "replace")]


def create_statements(vendor: str) -> list[str]:
    """Return the statements that create the triggers. `vendor` is Django's name of the database system."""
    return {"postgresql": _postgresql_create, "sqlite": _sqlite_create}[vendor]()


def drop_statements(vendor: str) -> list[str]:
    return {"postgresql": _postgresql_drop, "sqlite": _sqlite_drop}[vendor]()
