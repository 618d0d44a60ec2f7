-- Two roles on PostgreSQL: `platform_owner` migrates, `platform` serves and can neither change a table nor switch off what
-- keeps histories from being changed. Run it in the platform's database as a superuser, or as a role that owns the
-- database and can create roles; before `migrate` and again after it; once more in the ledger's, if that is another one:
--
--     psql -v ON_ERROR_STOP=1 -f deploy/roles.sql creditplatform
--
-- Passwords are yours to set: \password platform, \password platform_owner.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'platform_owner') THEN CREATE ROLE platform_owner LOGIN; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'platform') THEN CREATE ROLE platform LOGIN; END IF;
    -- Who is no superuser grants rights on tables of the owner's, and defaults for later ones, as its member.
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT platform_owner TO %I', current_user);
    END IF;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO platform, platform_owner', current_database());
END $$;

REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO platform_owner;
GRANT USAGE ON SCHEMA public TO platform;

-- What is there, and what later migrations add.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO platform;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO platform;
-- Records for the ledger, and the queue of those that are not anchored yet, are one table: what is decided stays in it.
DO $$
BEGIN
    IF to_regclass('public.credit_decisionanchor') IS NOT NULL THEN
        REVOKE DELETE ON public.credit_decisionanchor FROM platform;
    END IF;
END $$;
ALTER DEFAULT PRIVILEGES FOR ROLE platform_owner IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO platform;
ALTER DEFAULT PRIVILEGES FOR ROLE platform_owner IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO platform;

-- Behind a pooler the limits that the program asks for at its sessions' start are lost; these hold everywhere. A command
-- that takes longer runs as the owner. The time zone keeps the program from setting it in each session.
ALTER ROLE platform SET timezone = 'UTC';
ALTER ROLE platform SET statement_timeout = '25s';
ALTER ROLE platform SET lock_timeout = '5s';
ALTER ROLE platform SET idle_in_transaction_session_timeout = '90s';
