import { DatabaseError } from "pg";
import { describe, expect, test } from "vitest";
import { toStoreError } from "./errors.ts";

describe("SQLSTATE mapping", () => {
  test.each([
    ["23505", "conflict"],
    ["23503", "rejected"],
    ["23514", "rejected", "a_check"],
    // The rule of a partition: it has no name.
    ["23514", "unavailable"],
    ["22003", "rejected"],
    ["22021", "rejected"],
    ["54000", "rejected"],
    ["40001", "unavailable"],
    ["40P01", "unavailable"],
    ["53300", "unavailable"],
    ["53100", "unavailable"],
    ["57P01", "unavailable"],
    ["57P03", "unavailable"],
    ["57014", "unavailable"],
    ["25006", "unavailable"],
    ["42501", "unavailable"],
    ["08006", "unavailable"],
  ])("SQLSTATE %s is %s", (code, failure, constraint?: string) => {
    const error = Object.assign(new DatabaseError("words", 5, "error"), { code, constraint });
    expect(toStoreError(error)).toMatchObject({ failure, message: "words" });
  });

  test("a connection failure is unavailable and says why", () => {
    const refused = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
    expect(toStoreError(refused)).toMatchObject({ failure: "unavailable", message: "ECONNREFUSED" });
    expect(toStoreError(new Error("read ECONNRESET"))).toMatchObject({ failure: "unavailable" });
  });
});
