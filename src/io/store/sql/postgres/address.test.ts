import { expect, test } from "vitest";
import { readDatabaseAddress } from "./address.ts";

test.each([
  ["postgres://app:secret@db.example:6432/gateway", "postgres://app@db.example:6432/gateway"],
  ["postgresql://db/gateway?password=secret&sslmode=disable", "postgres://db/gateway"],
  ["postgres://app:se%2Fcret@[::1]/gateway", "postgres://app@[::1]/gateway"],
  ["postgres:///gateway?host=/run/postgresql&password=secret", "postgres:///run/postgresql/gateway"],
])("OPS-04 %s is shown without its secret", (text, shown) => {
  expect(readDatabaseAddress(text)).toEqual({ url: text, shown });
});

test.each(["", "db", "postgres://", "postgres://db", "postgres://db/", "http://db/gateway", "/run/postgresql gateway"])(
  "OPS-05 %j is no address, and the answer says what to write",
  (text) => {
    expect(readDatabaseAddress(text)).toEqual({ problem: "must be postgres://user:password@host:5432/database" });
  },
);

test("sslmode verifies the certificate or is no-verify; modes that may fall back are refused", () => {
  const read = (mode: string) => readDatabaseAddress(`postgres://app:secret@db/gateway?sslmode=${mode}`);
  for (const mode of ["require", "verify-ca", "verify-full"])
    expect(read(mode)).toMatchObject({ url: "postgres://app:secret@db/gateway?sslmode=verify-full" });
  for (const mode of ["no-verify", "disable"])
    expect(read(mode)).toMatchObject({ url: `postgres://app:secret@db/gateway?sslmode=${mode}` });
  for (const mode of ["prefer", "allow", "REQUIRE"]) expect(read(mode)).toHaveProperty("problem");
});
