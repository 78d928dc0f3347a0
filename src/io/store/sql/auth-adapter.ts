import type { BetterAuthOptions } from "better-auth";
import type { CleanedWhere, CustomAdapter, DBAdapter } from "better-auth/adapters";
import { type RawBuilder, sql } from "kysely";
import { isJsonObject } from "../../../kit/json.ts";
import { sha256Hex } from "../../../kit/secret.ts";
import type { Engine } from "./engine.ts";
import { StoreError } from "./store-error.ts";

/** Tables by the model names of the authentication library (better-auth). */
export const AUTH_TABLES: Readonly<Record<string, string>> = {
  user: "people",
  session: "people_sessions",
  account: "people_accounts",
  verification: "people_verifications",
  twoFactor: "people_two_factors",
  passkey: "people_passkeys",
  deviceCode: "people_devices",
};

/** Stored as digests, so that read access to the store does not allow signing in. */
const DIGESTED_FIELDS: Readonly<Record<string, string>> = { session: "token", deviceCode: "deviceCode" };

/** The field with the person's id, when it is not `userId`. */
const PERSON_FIELDS: Readonly<Record<string, string>> = { user: "id", verification: "value" };
const MATCH_NONE = sql`1 = 0`;
const MATCH_ALL = sql`1 = 1`;
/** The library deletes expired rows of all people at once. */
const EXPIRING_MODELS = ["verification"];
/** Signing out is allowed in any epoch. */
const UNFENCED_DELETE_MODELS = [...EXPIRING_MODELS, "session"];

/** Rejects writes of calls that began before the person's current epoch. */
export type EpochFence = {
  /** The newest epoch when the call began, or the one that it started itself. */
  epoch(): number;
  requiredCredential?(): RequiredCredential | undefined;
  /** Receives the stored secret of every second factor that is read. */
  onSecondFactorRead?(secret: string): void;
  /** Throws the error that the library returns to the client. */
  rejectStale(): never;
};

/** A credential that can be revoked without a new epoch; rows of the model `writes` are written only while it exists. */
export type RequiredCredential = {
  readonly model: "passkey" | "session";
  readonly field: string;
  readonly value: string;
  readonly writes: string;
};

type AuthEngine = Pick<Engine, "db" | "lockRows">;

export type AuthAdapterFactory = (options: BetterAuthOptions) => DBAdapter;

/** The better-auth adapter. Imported at the first sign-in, because the library needs more memory than an idle gateway. */
export async function createAuthAdapter(engine: AuthEngine, fence: EpochFence): Promise<AuthAdapterFactory> {
  const { createAdapterFactory } = await import("better-auth/adapters");
  return createAdapterFactory({
    config: {
      adapterId: "gateway",
      adapterName: "the gateway's store",
      supportsBooleans: false,
      supportsDates: false,
      supportsJSON: false,
      // Within a transaction the library also queries outside of it, which deadlocks on the single connection of SQLite.
      transaction: false,
    },
    adapter: ({ schema }) => adapterOn(engine, fence, (model) => ["id", ...Object.keys(schema[model]?.fields ?? {})]),
  });
}

type ModelRef = { readonly model: string; readonly modelKey?: string | undefined };
type ModelQuery = ModelRef & { readonly where: CleanedWhere[] };
type ColumnRef = RawBuilder<unknown>;

/** `credentialID` is stored as `credential_id`. */
function columnNameOf(field: string): string {
  return field.replace(/[A-Z]+/g, (capitals) => `_${capitals.toLowerCase()}`);
}

const column = (field: string): ColumnRef => sql.ref(columnNameOf(field));

function adapterOn(
  engine: AuthEngine,
  fence: EpochFence,
  fieldsOf: (model: string) => readonly string[],
): CustomAdapter {
  const fragments = sqlFragments(fieldsOf);
  const { db, lockRows = sql`` } = engine;
  const needs: CredentialCondition = (target) => {
    const needed = fence.requiredCredential?.();
    if (needed?.writes !== modelKeyOf(target)) return undefined;
    // The row lock serializes this with a concurrent revocation.
    return sql`exists (select 1 from ${fragments.table(needed)} where ${column(needed.field)} = ${needed.value} ${lockRows})`;
  };
  const write = fencedWriter(engine, fence);
  return {
    ...readOperations(db, fragments, fence),
    ...consumeOperations(db, fragments),
    ...updateOperations(write, fragments, needs, fence),
    ...createOperations(write, fragments, needs, fence),
  };
}

type SqlFragments = ReturnType<typeof sqlFragments>;
/** The condition that the required credential exists; undefined when the write does not depend on one. */
type CredentialCondition = (target: ModelRef) => RawBuilder<unknown> | undefined;

const modelKeyOf = ({ model, modelKey }: ModelRef): string => modelKey ?? model;
const personField = (target: ModelRef): string => PERSON_FIELDS[modelKeyOf(target)] ?? "userId";

function sqlFragments(fieldsOf: (model: string) => readonly string[]) {
  const table = (target: ModelRef) => {
    const name = AUTH_TABLES[modelKeyOf(target)];
    if (name === undefined) throw new StoreError("rejected", `there is no table for ${target.model}`);
    return sql.table(name);
  };
  const matching = (target: ModelRef, where: readonly CleanedWhere[] | undefined) =>
    toCondition((where ?? []).map((first) => digestWhere(modelKeyOf(target), first)));
  return {
    table,
    matching,
    // Aliased to the library's field names, so that rows need no mapping.
    columns: (target: ModelRef) =>
      sql.join([...new Set(fieldsOf(modelKeyOf(target)))].map((field) => sql`${column(field)} as ${sql.ref(field)}`)),
    assigned: (target: ModelRef, values: object) =>
      Object.entries(digestValues(modelKeyOf(target), values)).map(
        ([field, value]) => sql`${column(field)} = ${value}`,
      ),
    first: (target: ModelRef, where: readonly CleanedWhere[]) =>
      sql`id in (select id from ${table(target)} where ${matching(target, where)} limit 1) and ${matching(target, where)}`,
    /** The people whom the rows belong to, before and after the update. */
    owners(target: ModelRef, where: readonly CleanedWhere[], newValues: object = {}) {
      const field = personField(target);
      const named = where.filter((term) => term.field === field && term.operator === "eq").map(({ value }) => value);
      const ids = [...named, Reflect.get(newValues, field)].filter((id) => typeof id === "string");
      const stored = sql`id in (select ${column(field)} from ${table(target)} where ${matching(target, where)})`;
      return sql.join([...ids.map((id) => sql`id = ${id}`), stored], sql` or `);
    },
  };
}

/** Writes unless one of the people is in a newer epoch; returns the rows. */
type FencedWrite = <T>(
  people: RawBuilder<unknown>,
  written: (isCurrent: RawBuilder<unknown>) => RawBuilder<T>,
  of?: "the people themselves",
) => Promise<T[]>;

function fencedWriter({ db, lockRows = sql`` }: AuthEngine, fence: EpochFence): FencedWrite {
  return async <T>(
    people: RawBuilder<unknown>,
    written: (isCurrent: RawBuilder<unknown>) => RawBuilder<T>,
    of?: "the people themselves",
  ) => {
    const epoch = fence.epoch();
    // The row lock serializes this with the start of an epoch. Updates of `people` lock the rows themselves.
    const query =
      of === undefined
        ? sql<T>`with whose as (select epoch from people where ${people} ${lockRows})
            ${written(sql`not exists (select 1 from whose where epoch > ${epoch})`)}`
        : written(sql`epoch <= ${epoch}`);
    const { rows } = await query.execute(db);
    if (rows.length > 0) return rows;
    const late = await sql`select 1 from people where (${people}) and epoch > ${epoch} limit 1`.execute(db);
    return late.rows.length > 0 ? fence.rejectStale() : rows;
  };
}

function firstRow<T>(target: ModelRef, rows: readonly T[], where: readonly CleanedWhere[]): T | null {
  const [row] = rows;
  return row === undefined ? null : restoreSecret(modelKeyOf(target), row, where);
}

type AdapterPart<Name extends keyof CustomAdapter> = Required<Pick<CustomAdapter, Name>>;

function readOperations(
  db: AuthEngine["db"],
  { table, matching, columns }: SqlFragments,
  fence: EpochFence,
): AdapterPart<"findOne" | "findMany" | "count"> {
  return {
    async findOne<T>({ where, ...target }: ModelQuery) {
      const query = sql<T>`select ${columns(target)} from ${table(target)} where ${matching(target, where)} limit 1`;
      const { rows } = await query.execute(db);
      const [row] = rows;
      if (modelKeyOf(target) === "twoFactor" && isJsonObject(row)) fence.onSecondFactorRead?.(String(row["secret"]));
      return firstRow(target, rows, where);
    },
    async findMany<T>({ where, limit, sortBy, offset, ...target }: Parameters<CustomAdapter["findMany"]>[0]) {
      const order =
        sortBy === undefined
          ? sql``
          : sql`order by ${column(sortBy.field)} ${sortBy.direction === "desc" ? sql`desc` : sql`asc`}`;
      const query = sql<T>`select ${columns(target)} from ${table(target)} where ${matching(target, where)} ${order}
        limit ${limit} offset ${offset ?? 0}`;
      return (await query.execute(db)).rows;
    },
    async count({ where, ...target }) {
      const query = sql<{
        rows: unknown;
      }>`select count(*) as rows from ${table(target)} where ${matching(target, where)}`;
      return Number((await query.execute(db)).rows[0]?.rows ?? 0);
    },
  };
}

/** Consumes a one-time value; the fence applies to the write that follows. */
function consumeOperations(db: AuthEngine["db"], { table, first, columns }: SqlFragments): AdapterPart<"consumeOne"> {
  return {
    async consumeOne<T>({ where, ...target }: ModelQuery) {
      const query = sql<T>`delete from ${table(target)} where ${first(target, where)} returning ${columns(target)}`;
      return firstRow(target, (await query.execute(db)).rows, where);
    },
  };
}

function createOperations(
  write: FencedWrite,
  { table }: SqlFragments,
  needs: CredentialCondition,
  { rejectStale }: EpochFence,
): AdapterPart<"create"> {
  return {
    async create({ data, ...target }) {
      const id: unknown = Reflect.get(data, personField(target));
      const stored = Object.entries(digestValues(modelKeyOf(target), data));
      const names = sql.join(stored.map(([field]) => column(field)));
      const values = sql.join(stored.map(([, value]) => sql`${value}`));
      const created = await write(
        modelKeyOf(target) === "user" || typeof id !== "string" ? MATCH_NONE : sql`id = ${id}`,
        (isCurrent) =>
          sql`insert into ${table(target)} (${names}) select ${values} where ${isCurrent} and ${needs(target) ?? MATCH_ALL}
            ${modelKeyOf(target) === "twoFactor" ? upsertSecondFactor(table(target), Object.keys(data)) : sql``} returning id`,
      );
      return created.length > 0 ? data : rejectStale();
    },
  };
}

/** A person has one second factor: a concurrent one replaces it unless it is already verified. */
function upsertSecondFactor(table: RawBuilder<unknown>, fields: readonly string[]): RawBuilder<unknown> {
  const set = fields.map((field) => sql`${column(field)} = excluded.${column(field)}`);
  return sql`on conflict (user_id) do update set ${sql.join(set)} where ${table}.verified = 0`;
}

function updateOperations(
  write: FencedWrite,
  { table, matching, columns, assigned, first, owners }: SqlFragments,
  needs: CredentialCondition,
  { rejectStale }: EpochFence,
): AdapterPart<"update" | "updateMany" | "delete" | "deleteMany" | "incrementOne"> {
  const update = async <T>(
    target: ModelQuery,
    set: readonly RawBuilder<unknown>[],
    rows: RawBuilder<unknown>,
    newValues: object,
  ) => {
    const needed = needs(target);
    const written = await write(
      owners(target, target.where, newValues),
      (isCurrent) =>
        sql<T>`update ${table(target)} set ${sql.join(set)} where ${rows} and ${isCurrent} and ${needed ?? MATCH_ALL}
          returning ${columns(target)}`,
      modelKeyOf(target) === "user" ? "the people themselves" : undefined,
    );
    return written.length === 0 && needed !== undefined ? rejectStale() : written;
  };
  const remove = async (target: ModelQuery, always: readonly string[]) => {
    const people = always.includes(modelKeyOf(target)) ? MATCH_NONE : owners(target, target.where);
    const rows = matching(target, target.where);
    const removed = (isCurrent: RawBuilder<unknown>) =>
      sql`delete from ${table(target)} where ${rows} and ${isCurrent} returning id`;
    return (await write(people, removed)).length;
  };
  return {
    async update<T>({ update: set, ...target }: ModelQuery & { update: T }) {
      const newValues = typeof set === "object" && set !== null ? set : {};
      const rows = await update<T>(target, assigned(target, newValues), matching(target, target.where), newValues);
      return firstRow(target, rows, target.where);
    },
    updateMany: async ({ update: set, ...target }) =>
      (await update(target, assigned(target, set), matching(target, target.where), set)).length,
    async delete(target) {
      await remove(target, UNFENCED_DELETE_MODELS);
    },
    deleteMany: (target) => remove(target, EXPIRING_MODELS),
    async incrementOne<T>({
      increment,
      set = {},
      ...target
    }: Parameters<AdapterPart<"incrementOne">["incrementOne"]>[0]) {
      const added = Object.entries(increment).map(
        ([field, delta]) => sql`${column(field)} = coalesce(${column(field)}, 0) + ${delta}`,
      );
      const all = [...added, ...assigned(target, set)];
      return firstRow(target, await update<T>(target, all, first(target, target.where), set), target.where);
    },
  };
}

function digestValues(model: string, values: object): object {
  const secret = DIGESTED_FIELDS[model];
  const value: unknown = secret === undefined ? undefined : Reflect.get(values, secret);
  return secret === undefined || typeof value !== "string" ? values : { ...values, [secret]: sha256Hex(value) };
}

function digestWhere(model: string, where: CleanedWhere): CleanedWhere {
  if (DIGESTED_FIELDS[model] !== where.field) return where;
  const { value } = where;
  if (typeof value === "string") return { ...where, value: sha256Hex(value) };
  if (Array.isArray(value)) return { ...where, value: value.map((first) => sha256Hex(String(first))) };
  return where;
}

/** Restores the secret for a caller that queried by it. */
function restoreSecret<T>(model: string, row: T, where: readonly CleanedWhere[]): T {
  const secret = DIGESTED_FIELDS[model];
  const condition = where.find(({ field, operator }) => field === secret && operator === "eq");
  if (secret === undefined || condition === undefined || typeof row !== "object" || row === null) return row;
  return Object.assign(row, { [secret]: condition.value });
}

const COMPARISONS: ReadonlyMap<CleanedWhere["operator"], RawBuilder<unknown>> = new Map([
  ["eq", sql`=`],
  ["ne", sql`<>`],
  ["lt", sql`<`],
  ["lte", sql`<=`],
  ["gt", sql`>`],
  ["gte", sql`>=`],
]);

function toCondition(where: readonly CleanedWhere[]): RawBuilder<unknown> {
  const all = where.filter(({ connector }) => connector === "AND").map(toTerm);
  const any = where.filter(({ connector }) => connector === "OR").map(toTerm);
  const terms = any.length === 0 ? all : [...all, sql`(${sql.join(any, sql` or `)})`];
  return terms.length === 0 ? sql`1 = 1` : sql.join(terms, sql` and `);
}

function toTerm({ field, operator, value, mode }: CleanedWhere): RawBuilder<unknown> {
  const left = column(field);
  if (value === null) return operator === "ne" ? sql`${left} is not null` : sql`${left} is null`;
  if (operator === "in" || operator === "not_in") {
    const values = Array.isArray(value) ? value : [value];
    if (values.length === 0) return operator === "in" ? sql`1 = 0` : sql`1 = 1`;
    const list = sql.join(values.map((first) => sql`${first}`));
    return operator === "in" ? sql`${left} in (${list})` : sql`${left} not in (${list})`;
  }
  const compared = COMPARISONS.get(operator);
  if (compared === undefined) throw new StoreError("rejected", `accounts cannot be searched with ${operator}`);
  return mode === "insensitive" && typeof value === "string"
    ? sql`lower(${left}) ${compared} ${value.toLowerCase()}`
    : sql`${left} ${compared} ${value}`;
}
