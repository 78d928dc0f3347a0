-- Two roles for a gateway on PostgreSQL: one owns and migrates the tables, the other runs gateways and can neither alter
-- tables nor update or delete append-only rows (ledger, audit log, versions of policies and routers, exchange rates).
-- Run it as an administrator in each new database; existing roles are kept:
--
--   createdb --encoding=UTF8 --template=template0 gateway
--   psql --dbname=gateway --file=roles.sql
--   psql --dbname=gateway --command='\password gateway_owner' --command='\password gateway_app'
--
-- Then set DATABASE_URL with gateway_app and DATABASE_MIGRATION_URL with gateway_owner. The gateway grants the
-- table privileges of gateway_app after each migration; to grant them manually, run as the owner:
--
--   select gateway_grant('gateway_app');

do $$ begin
  if to_regrole('gateway_owner') is null then create role gateway_owner login; end if;
  if to_regrole('gateway_app') is null then create role gateway_app login; end if;
  execute format('revoke all on database %I from public', current_database());
  execute format('grant connect on database %I to gateway_owner, gateway_app', current_database());
end $$;
revoke all on schema public from public;
grant usage, create on schema public to gateway_owner;
grant usage on schema public to gateway_app;

-- The gateway sets this for its own sessions; this line applies it to every other login of the role.
alter role gateway_app set statement_timeout = '60s';
alter role gateway_app set idle_in_transaction_session_timeout = '60s';
