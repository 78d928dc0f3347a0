/**
 * Partitions the request log by time. Each partition has the request id as its primary key: a repeated record has the same
 * time, so it conflicts within one partition. Nothing is copied: the existing table becomes the first partition, up to a bound
 * in the future, and a default partition takes all other rows. The statements are checksummed and never change.
 */

const MONTH_MS_MAX = 32 * 86_400_000;

/** Instances of the previous version must not reach the bound before the migration is resumed. */
const MONTHS_AHEAD = 3;

/** Functions run as the owner of the tables, with short lock waits, because other statements queue behind them. */
const AS_OWNER = "security definer set lock_timeout = '3s'";

/** The first month that requests will not reach for a while. */
const BOUND = `select extract(epoch from date_trunc('month', to_timestamp(greatest(coalesce(max(created_at_ms), 0) / 1000,
  extract(epoch from now() + interval '${MONTHS_AHEAD - 1} months'))) at time zone 'UTC') + interval '1 month') * 1000
  into bound from request_records`;

const INDEXES = ["by_time", "by_shape"] as const;

/** Repeatable preparation: the bound is validated while requests are written, so that attaching the table is instant. */
export const LOG_PARTITION_PREPARATION: readonly string[] = [
  `do $$
    declare bound bigint;
    begin
      if not exists (select from request_records) or exists (select from pg_constraint
        where conrelid = 'request_records'::regclass and conname = 'request_records_before') then return; end if;
      ${BOUND};
      execute format('alter table request_records add constraint request_records_before check (created_at_ms < %s) not valid', bound);
    end $$`,
  `do $$ begin
      if exists (select from pg_constraint where conrelid = 'request_records'::regclass
        and conname = 'request_records_before' and not convalidated)
      then alter table request_records validate constraint request_records_before; end if;
    end $$`,
];

const SPLIT_TABLE = `do $$
  declare bound bigint; seen record;
  begin
    lock table request_records in access exclusive mode;
    select (regexp_match(pg_get_constraintdef(oid), '\\d{5,}'))[1]::bigint into bound from pg_constraint
      where conrelid = 'request_records'::regclass and conname = 'request_records_before';
    if bound is null and exists (select from request_records) then ${BOUND}; end if;
    alter table request_records rename to request_records_before;
    alter index request_records_pkey rename to request_records_before_pkey;
    ${INDEXES.map((name) => `alter index request_records_${name} rename to request_records_before_${name};`).join("\n    ")}
    create table request_records (like request_records_before including defaults) partition by range (created_at_ms);
    create index request_records_by_time on request_records (workspace_id, created_at_ms, id, shape);
    create index request_records_by_shape on request_records (workspace_id, shape, created_at_ms, id);
    for seen in select distinct view.oid, view.relname from pg_depend
      join pg_rewrite on pg_rewrite.oid = pg_depend.objid
      join pg_class as view on view.oid = pg_rewrite.ev_class
      where pg_depend.refobjid = 'request_records_before'::regclass and pg_depend.classid = 'pg_rewrite'::regclass
    loop
      execute format('create or replace view %I as %s', seen.relname,
        replace(pg_get_viewdef(seen.oid), 'request_records_before', 'request_records'));
    end loop;
    if bound is null then
      drop table request_records_before;
    else
      execute format('alter table request_records attach partition request_records_before for values from (minvalue) to (%s)', bound);
      alter table request_records_before drop constraint request_records_before;
    end if;
    create table request_records_rest partition of request_records default;
    alter table request_records_rest add primary key (id);
  end $$`;

/** A null bound is open; the default partition has none. */
const PARTITION_VIEW = `create view request_log_parts as
  select part, (regexp_match(bounds, 'FROM \\(''?(-?\\d+)'))[1]::bigint as from_ms,
    (regexp_match(bounds, 'TO \\(''?(-?\\d+)'))[1]::bigint as to_ms
  from (
    select pg_class.relname::text as part, pg_get_expr(pg_class.relpartbound, pg_class.oid) as bounds
    from pg_inherits join pg_class on pg_class.oid = pg_inherits.inhrelid
    where pg_inherits.inhparent = 'request_records'::regclass
  ) as found`;

/** Adds a partition unless one overlaps. Rows of the default partition move over under a lock that blocks its writers. */
const ADD_PARTITION = `create function request_log_add(from_ms bigint, to_ms bigint) returns boolean language plpgsql
  ${AS_OWNER} as $$
  declare part text := 'request_records_' || to_char(to_timestamp(from_ms / 1000) at time zone 'UTC', 'YYYY_MM_DD');
  begin
    if from_ms < 0 or to_ms <= from_ms or to_ms - from_ms > ${MONTH_MS_MAX} then
      raise exception 'a partition of the request log covers at most a month';
    end if;
    lock table request_records in share update exclusive mode;
    if exists (select from request_log_parts as taken where taken.part <> 'request_records_rest'
      and coalesce(taken.from_ms < request_log_add.to_ms, true) and coalesce(taken.to_ms > request_log_add.from_ms, true))
    then return false; end if;
    execute format('create table %I (like request_records including defaults including indexes, primary key (id))', part);
    lock table request_records_rest in access exclusive mode;
    execute format('with moved as (delete from request_records_rest
      where created_at_ms >= %s and created_at_ms < %s returning *) insert into %I select * from moved', from_ms, to_ms, part);
    execute format('alter table request_records attach partition %I for values from (%s) to (%s)', part, from_ms, to_ms);
    return true;
  end $$`;

/** Returns how many partitions were dropped. */
const DROP_PARTITIONS = `create function request_log_drop(before_ms bigint) returns integer language plpgsql ${AS_OWNER} as $$
  declare old text; dropped integer := 0;
  begin
    for old in select part from request_log_parts where to_ms <= before_ms loop
      execute format('drop table %I', old);
      dropped := dropped + 1;
    end loop;
    return dropped;
  end $$`;

/** A security definer function must not resolve table names in another schema. */
const PIN_SEARCH_PATH = `do $$ begin
    execute format('alter function request_log_add(bigint, bigint) set search_path = %I, pg_temp', current_schema());
    execute format('alter function request_log_drop(bigint) set search_path = %I, pg_temp', current_schema());
  end $$`;

export const LOG_PARTITION_DDL: readonly string[] = [
  SPLIT_TABLE,
  PARTITION_VIEW,
  ADD_PARTITION,
  DROP_PARTITIONS,
  PIN_SEARCH_PATH,
  "revoke execute on function request_log_add(bigint, bigint) from public",
  "revoke execute on function request_log_drop(bigint) from public",
];
