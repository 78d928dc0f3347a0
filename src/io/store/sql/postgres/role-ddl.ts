/**
 * Grants for a role that runs a gateway without owning the tables: read and write rows, but only insert into append-only tables.
 * Partitions are managed by security definer functions. The owner calls `gateway_grant` after every migration, which also
 * revokes obsolete grants.
 */
export const ROLE_DDL: readonly string[] = [
  `create function gateway_grant(app text) returns void language plpgsql as $$
  declare one record;
  begin
    execute format('grant usage on schema %I to %I', current_schema(), app);
    for one in
      select relname, case
          when relkind = 'S' then 'usage, select'
          when relkind = 'v' or relname = 'schema_migrations' then 'select'
          when exists (select from pg_trigger where tgrelid = pg_class.oid and tgname = relname || '_append_only')
            then 'select, insert'
          else 'select, insert, update, delete' end as rights,
        case when relkind = 'S' then 'sequence' else 'table' end as kind
      from pg_class where relnamespace = (select oid from pg_namespace where nspname = current_schema())
        and relowner = (select oid from pg_roles where rolname = current_user)
        and relkind in ('r', 'p', 'v', 'S') and not relispartition
    loop
      execute format('revoke all on %s %I from %I', one.kind, one.relname, app);
      execute format('grant %s on %s %I to %I', one.rights, one.kind, one.relname, app);
    end loop;
    execute format('grant execute on function request_log_add(bigint, bigint), request_log_drop(bigint) to %I', app);
  end $$`,
  "revoke execute on function gateway_grant(text) from public",
];
