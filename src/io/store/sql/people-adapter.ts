import type { BetterAuthOptions } from "better-auth";
import type { CleanedWhere, CustomAdapter, DBAdapter } from "better-auth/adapters";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { digestOf } from "../../../kit/secret.ts";
import type { Database } from "./schema.ts";
import { StoreError } from "./store-error.ts";

/** The tables of the library of sign-in, by its names for them. */
export const PEOPLE_TABLES: Readonly<Record<string, string>> = {
  user: "people",
  session: "people_sessions",
  account: "people_accounts",
  verification: "people_verifications",
  twoFactor: "people_two_factors",
  passkey: "people_passkeys",
  deviceCode: "people_devices",
};

/** Columns that are kept as a digest: who reads the store can sign in with none of them. */
const DIGESTED: Readonly<Record<string, string>> = { session: "token", deviceCode: "deviceCode" };

export type PeopleDatabase = (options: BetterAuthOptions) => DBAdapter;

/**
 * The store as the library of sign-in asks for it. Loaded when somebody signs in for the first time: the library takes
 * more memory than the rest of an idle gateway.
 */
export async function peopleDatabase(db: Kysely<Database>): Promise<PeopleDatabase> {
  const { createAdapterFactory } = await import("better-auth/adapters");
  return createAdapterFactory({
    config: {
      adapterId: "gateway",
      adapterName: "the gateway's store",
      supportsBooleans: false,
      supportsDates: false,
      supportsJSON: false,
      // Inside one the library asks past it too, and the embedded store has one connection: it would wait for ever.
      transaction: false,
    },
    adapter: ({ schema }) => adapterOn(db, (model) => ["id", ...Object.keys(schema[model]?.fields ?? {})]),
  });
}

type Target = { readonly model: string; readonly modelKey?: string | undefined };
type Column = RawBuilder<unknown>;

/** `credentialID` is kept in `credential_id`. */
function columnNamed(field: string): string {
  return field.replace(/[A-Z]+/g, (capitals) => `_${capitals.toLowerCase()}`);
}

const column = (field: string): Column => sql.ref(columnNamed(field));

function adapterOn(db: Kysely<Database>, fieldsOf: (model: string) => readonly string[]): CustomAdapter {
  const key = ({ model, modelKey }: Target) => modelKey ?? model;
  const table = (target: Target) => {
    const name = PEOPLE_TABLES[key(target)];
    if (name === undefined) throw new StoreError("rejected", `there is no table for ${target.model}`);
    return sql.table(name);
  };
  // In the library's own names, so that a row needs no change of its own.
  const columns = (target: Target) =>
    sql.join([...new Set(fieldsOf(key(target)))].map((field) => sql`${column(field)} as ${sql.ref(field)}`));
  const matching = (target: Target, where: readonly CleanedWhere[] | undefined) =>
    conditionOf((where ?? []).map((one) => digestedWhere(key(target), one)));
  const assigned = (target: Target, values: object) =>
    Object.entries(digested(key(target), values)).map(([field, value]) => sql`${column(field)} = ${value}`);
  const one = (target: Target, where: readonly CleanedWhere[]) =>
    sql`id in (select id from ${table(target)} where ${matching(target, where)} limit 1) and ${matching(target, where)}`;
  const first = async <T>(query: RawBuilder<T>, target: Target, where: readonly CleanedWhere[]) => {
    const [row] = (await query.execute(db)).rows;
    return row === undefined ? null : undigested(key(target), row, where);
  };
  const changes = async (query: RawBuilder<unknown>) => Number((await query.execute(db)).numAffectedRows ?? 0);
  return {
    async create({ data, ...target }) {
      const kept = Object.entries(digested(key(target), data));
      const names = sql.join(kept.map(([field]) => column(field)));
      const values = sql.join(kept.map(([, value]) => sql`${value}`));
      await sql`insert into ${table(target)} (${names}) values (${values})`.execute(db);
      return data;
    },
    findOne: <T>({ where, ...target }: Target & { where: CleanedWhere[] }) =>
      first(
        sql<T>`select ${columns(target)} from ${table(target)} where ${matching(target, where)} limit 1`,
        target,
        where,
      ),
    async findMany<T>({ where, limit, sortBy, offset, ...target }: Parameters<CustomAdapter["findMany"]>[0]) {
      const order =
        sortBy === undefined
          ? sql``
          : sql`order by ${column(sortBy.field)} ${sortBy.direction === "desc" ? sql`desc` : sql`asc`}`;
      const query = sql<T>`select ${columns(target)} from ${table(target)} where ${matching(target, where)} ${order}
        limit ${limit} offset ${offset ?? 0}`;
      return (await query.execute(db)).rows;
    },
    update: <T>({ where, update, ...target }: Target & { where: CleanedWhere[]; update: T }) => {
      const set = typeof update === "object" && update !== null ? assigned(target, update) : [];
      return first(
        sql<T>`update ${table(target)} set ${sql.join(set)} where ${matching(target, where)} returning ${columns(target)}`,
        target,
        where,
      );
    },
    updateMany: ({ where, update, ...target }) =>
      changes(sql`update ${table(target)} set ${sql.join(assigned(target, update))} where ${matching(target, where)}`),
    async delete({ where, ...target }) {
      await sql`delete from ${table(target)} where ${matching(target, where)}`.execute(db);
    },
    deleteMany: ({ where, ...target }) => changes(sql`delete from ${table(target)} where ${matching(target, where)}`),
    consumeOne: <T>({ where, ...target }: Target & { where: CleanedWhere[] }) =>
      first(
        sql<T>`delete from ${table(target)} where ${one(target, where)} returning ${columns(target)}`,
        target,
        where,
      ),
    incrementOne<T>({ where, increment, set, ...target }: Parameters<NonNullable<CustomAdapter["incrementOne"]>>[0]) {
      const added = Object.entries(increment).map(
        ([field, delta]) => sql`${column(field)} = coalesce(${column(field)}, 0) + ${delta}`,
      );
      const all = sql.join([...added, ...assigned(target, set ?? {})]);
      const query = sql<T>`update ${table(target)} set ${all} where ${one(target, where)} returning ${columns(target)}`;
      return first(query, target, where);
    },
    async count({ where, ...target }) {
      const query = sql<{
        rows: unknown;
      }>`select count(*) as rows from ${table(target)} where ${matching(target, where)}`;
      return Number((await query.execute(db)).rows[0]?.rows ?? 0);
    },
  };
}

function digested(model: string, values: object): object {
  const secret = DIGESTED[model];
  const value: unknown = secret === undefined ? undefined : Reflect.get(values, secret);
  return secret === undefined || typeof value !== "string" ? values : { ...values, [secret]: digestOf(value) };
}

function digestedWhere(model: string, where: CleanedWhere): CleanedWhere {
  if (DIGESTED[model] !== where.field) return where;
  const { value } = where;
  if (typeof value === "string") return { ...where, value: digestOf(value) };
  if (Array.isArray(value)) return { ...where, value: value.map((one) => digestOf(String(one))) };
  return where;
}

/** Who asked by the secret itself gets it back. */
function undigested<T>(model: string, row: T, where: readonly CleanedWhere[]): T {
  const secret = DIGESTED[model];
  const asked = where.find(({ field, operator }) => field === secret && operator === "eq");
  if (secret === undefined || asked === undefined || typeof row !== "object" || row === null) return row;
  return Object.assign(row, { [secret]: asked.value });
}

const COMPARED: ReadonlyMap<CleanedWhere["operator"], RawBuilder<unknown>> = new Map([
  ["eq", sql`=`],
  ["ne", sql`<>`],
  ["lt", sql`<`],
  ["lte", sql`<=`],
  ["gt", sql`>`],
  ["gte", sql`>=`],
]);

function conditionOf(where: readonly CleanedWhere[]): RawBuilder<unknown> {
  const all = where.filter(({ connector }) => connector === "AND").map(termOf);
  const any = where.filter(({ connector }) => connector === "OR").map(termOf);
  const terms = any.length === 0 ? all : [...all, sql`(${sql.join(any, sql` or `)})`];
  return terms.length === 0 ? sql`1 = 1` : sql.join(terms, sql` and `);
}

function termOf({ field, operator, value, mode }: CleanedWhere): RawBuilder<unknown> {
  const left = column(field);
  if (value === null) return operator === "ne" ? sql`${left} is not null` : sql`${left} is null`;
  if (operator === "in" || operator === "not_in") {
    const values = Array.isArray(value) ? value : [value];
    if (values.length === 0) return operator === "in" ? sql`1 = 0` : sql`1 = 1`;
    const list = sql.join(values.map((one) => sql`${one}`));
    return operator === "in" ? sql`${left} in (${list})` : sql`${left} not in (${list})`;
  }
  const compared = COMPARED.get(operator);
  if (compared === undefined) throw new StoreError("rejected", `people are not looked for by ${operator}`);
  return mode === "insensitive" && typeof value === "string"
    ? sql`lower(${left}) ${compared} ${value.toLowerCase()}`
    : sql`${left} ${compared} ${value}`;
}
