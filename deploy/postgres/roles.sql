-- Two roles for a gateway on PostgreSQL: one owns the tables and brings them up to date, the other runs gateways and can
-- neither change tables nor change or remove what is only ever added (ledger, audit log, versions of policies and routers,
-- exchange rates). Run it as an administrator, inside each new database; roles that are there already stay as they are:
--
--   createdb --encoding=UTF8 --template=template0 gateway
--   psql --dbname=gateway --file=roles.sql
--   psql --dbname=gateway --command='\password gateway_owner' --command='\password gateway_app'
--
-- Then set DATABASE_URL with gateway_app and DATABASE_MIGRATION_URL with gateway_owner. What gateway_app may do with each
-- table is granted by the gateway whenever it brings tables up to date; by hand, as the owner, it is
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

-- The gateway says this for its own sessions; here it holds for whatever else signs in by that name.
alter role gateway_app set statement_timeout = '60s';
alter role gateway_app set idle_in_transaction_session_timeout = '60s';
