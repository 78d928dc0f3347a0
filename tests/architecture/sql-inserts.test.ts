import { expect, test } from "vitest";
import { readSources } from "./source.ts";

/** `insert into <table>` followed by the values or a query instead of a column list. */
const POSITIONAL_INSERT =
  /\binsert(?:\s+or\s+\w+)?\s+into\s+(?:\$\{[^}]*\}|"?[\w.%]+"?)(?:\s+as\s+\w+)?\s+(?:overriding\s+\w+\s+value\s+)?(?:values|select|with)\b/i;

/** A released migration: stores verify the checksum of its text, so it cannot change. */
const RELEASED_MIGRATIONS = ["src/io/store/sql/postgres/log-partition-ddl.ts"];

test("every SQL insert names its columns, so that adding a column cannot shift values", () => {
  const positional = readSources()
    .filter(({ code }) => POSITIONAL_INSERT.test(code))
    .map(({ file }) => file);
  expect(positional).toEqual(RELEASED_MIGRATIONS);
});

test.each([
  ["insert into wallets values (?, ?, ?)", true],
  [`insert or rollback into \${table} values \${row}`, true],
  ["insert into wallets\n  select workspace_id, currency from batch", true],
  ["INSERT INTO wallets AS w VALUES (1)", true],
  ["insert into wallets (workspace_id, currency) values (?, ?)", false],
  [`insert into \${table} (\${names}) select \${values}`, false],
  ["insert into wallets\n    (workspace_id, currency)\n  select a, b from batch", false],
])("%j is positional: %s", (statement, isPositional) => {
  expect(POSITIONAL_INSERT.test(statement)).toBe(isPositional);
});
