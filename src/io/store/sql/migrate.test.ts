import { expect, test } from "vitest";
import { sha256Hex } from "../../../kit/secret.ts";
import { MIGRATIONS } from "./migrations/all.ts";
import { postgresDdl } from "./postgres/ddl.ts";
import { sqliteDdl } from "./sqlite/ddl.ts";

/** Stores out there remember these. A line is added with a release and never changes. */
const RELEASED: Readonly<Record<number, Readonly<Record<"sqlite" | "postgres", string>>>> = {
  1: {
    sqlite: "44febefce35409d6e4801be89243dc7ec8a8dd1f71d2927d823ec948c9fddc1b",
    postgres: "1be125093bcc7fe1b43e14bab80976ab80a013403f5091277a06f3491941d3b2",
  },
  2: {
    sqlite: "e5725a643ba5f0bbfde481933debcdd4533715a3daf1a58627d25b6b52b1518f",
    postgres: "566cdf23727b26eb04090f3d32cbadbba532b6c6eed888dfb378d3ae4134c785",
  },
};

test("a released migration keeps its text on both engines", () => {
  const found = MIGRATIONS.filter(({ number }) => number in RELEASED).map(({ number, statements }) => [
    number,
    {
      sqlite: sha256Hex(statements(sqliteDdl).join(";\n")),
      postgres: sha256Hex(statements(postgresDdl).join(";\n")),
    },
  ]);
  expect(Object.fromEntries(found)).toEqual(RELEASED);
});

test("migrations are numbered upwards, each number once", () => {
  const numbers = MIGRATIONS.map(({ number }) => number);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
});

test("a migration adds only columns that instances of the previous version need not write", () => {
  const added = MIGRATIONS.flatMap(({ statements }) =>
    [sqliteDdl, postgresDdl].flatMap((ddl) => statements(ddl).filter((statement) => /\badd column\b/i.test(statement))),
  );
  expect(added.length).toBeGreaterThan(20);
  expect(added.filter((statement) => /not null/i.test(statement) && !/default/i.test(statement))).toEqual([]);
});
