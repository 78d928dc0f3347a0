/**
 * The request log in partitions by time. Each is a table of its own with the request's id as its primary key: a record
 * that is sent again has the time it had before, so it meets its row in the same partition. Nothing is copied: the table
 * as it was becomes the first partition, up to a bound in the future, and one without bounds takes whatever has no other.
 */

const MONTH_MS_MAX = 32 * 86_400_000;

/** No request of an earlier version may meet the bound while this step waits to be taken up again. */
const MONTHS_AHEAD = 3;

/**
 * Functions that work as the owner of the tables, whoever calls them. Their waits for a lock are short, because everybody
 * else waits behind them: what did not come about is tried later.
 */
const AS_OWNER = "security definer set lock_timeout = '3s'";

/** The first month that no request can be of for a while. */
const BOUND = `select extract(epoch from date_trunc('month', to_timestamp(greatest(coalesce(max(created_at_ms), 0) / 1000,
  extract(epoch from now() + interval '${MONTHS_AHEAD - 1} months'))) at time zone 'UTC') + interval '1 month') * 1000
  into bound from request_records`;

const INDEXES = ["by_time", "by_shape"] as const;

/**
 * Before the change itself, each on its own and good to be repeated: the bound is proven while requests are written. Then
 * the change takes a moment, whatever the size of the log.
 */
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

/** Bounds are null where there are none; the partition for the rest has neither. */
const PARTITION_VIEW = `create view request_log_parts as
  select part, (regexp_match(bounds, 'FROM \\(''?(-?\\d+)'))[1]::bigint as from_ms,
    (regexp_match(bounds, 'TO \\(''?(-?\\d+)'))[1]::bigint as to_ms
  from (
    select pg_class.relname::text as part, pg_get_expr(pg_class.relpartbound, pg_class.oid) as bounds
    from pg_inherits join pg_class on pg_class.oid = pg_inherits.inhrelid
    where pg_inherits.inhparent = 'request_records'::regclass
  ) as found`;

/**
 * Adds a partition for a span that none has yet; false where one has. What waits in the partition for the rest moves
 * over, under a lock that keeps its writers out: no request is in both or in neither.
 */
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

/** Removes the partitions that end by then; how many it were. */
const DROP_PARTITIONS = `create function request_log_drop(before_ms bigint) returns integer language plpgsql ${AS_OWNER} as $$
  declare old text; dropped integer := 0;
  begin
    for old in select part from request_log_parts where to_ms <= before_ms loop
      execute format('drop table %I', old);
      dropped := dropped + 1;
    end loop;
    return dropped;
  end $$`;

/** Who works as the owner must not find tables of somebody else by the same names. */
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
