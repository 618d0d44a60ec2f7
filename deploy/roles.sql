-- Create two roles on PostgreSQL. `platform_owner` migrates. `platform` serves, and can neither change tables nor
-- disable the triggers that protect histories. Run this script before `migrate` and again afterward, in the platform's
-- database and in the ledger's database if it is separate. The role that runs it must be a superuser, or must own the
-- database and be able to create roles:
--
--     psql -v ON_ERROR_STOP=1 -f deploy/roles.sql creditplatform
--
-- Then set the passwords: \password platform, \password platform_owner.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'platform_owner') THEN CREATE ROLE platform_owner LOGIN; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'platform') THEN CREATE ROLE platform LOGIN; END IF;
    -- A role that is not a superuser must be a member of the owner to grant rights on the owner's tables.
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT platform_owner TO %I', current_user);
    END IF;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO platform, platform_owner', current_database());
END $$;

REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO platform_owner;
GRANT USAGE ON SCHEMA public TO platform;

-- These grants apply to existing tables, and to tables that later migrations add.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO platform;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO platform;
-- One table contains the records for the ledger, including records that are not anchored yet. Rows must not be deleted.
DO $$
BEGIN
    IF to_regclass('public.credit_decisionanchor') IS NOT NULL THEN
        REVOKE DELETE ON public.credit_decisionanchor FROM platform;
    END IF;
END $$;
ALTER DEFAULT PRIVILEGES FOR ROLE platform_owner IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO platform;
ALTER DEFAULT PRIVILEGES FOR ROLE platform_owner IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO platform;

-- A pooler drops the limits that the program sets at the start of a session, but these limits of the role always apply.
-- A command that needs more time runs as the owner. With the time zone, the program need not set it in each session.
ALTER ROLE platform SET timezone = 'UTC';
ALTER ROLE platform SET statement_timeout = '25s';
ALTER ROLE platform SET lock_timeout = '5s';
ALTER ROLE platform SET idle_in_transaction_session_timeout = '90s';
