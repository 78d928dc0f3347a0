import { expect, test } from "vitest";
import { asText, cell } from "./print.ts";

const COLUMNS = [
  { title: "id", at: "id" },
  { title: "tokens", at: "usage.input_tokens" },
];

test("a table is aligned, says where to go on, and says when it is empty", () => {
  const rows = [
    { id: "a", usage: { input_tokens: 7 } },
    { id: "longer", usage: { input_tokens: null } },
  ];
  const text = asText({ data: rows, next: "c1" }, { is: "table", columns: COLUMNS });
  expect(text.split("\n")).toEqual(["ID      TOKENS", "a       7", "longer  -", "", "More: --cursor c1"]);
  expect(asText({ data: [], next: null }, { is: "table", columns: COLUMNS })).toBe("(none)");
  const none = asText({ data: [], next: null }, { is: "table", columns: COLUMNS, none: "Look elsewhere." });
  expect(none).toBe("(none)\n\nLook elsewhere.");
});

test("sentences of a record stand on lines of their own, words of a list on one", () => {
  const notes = ["This is a sentence that says something of use.", "So is this one."];
  expect(asText({ notes, of: ["a", "b"] }, { is: "record" })).toBe(
    `notes  ${notes[0]}\n       ${notes[1]}\nof     a, b`,
  );
});

test("a record lays objects flat and shows its lists as tables", () => {
  const text = asText(
    { ok: true, wallet: { held: "0.00" }, list: [{ id: "a" }] },
    { is: "record_with_tables", tables: [{ at: "list", columns: COLUMNS.slice(0, 1) }] },
  );
  expect(text).toBe("ok           yes\nwallet.held  0.00\n\nlist\nID\na");
});

test("a name cannot draw on the terminal", () => {
  expect(cell("a\u001b[31mred\u202e")).toBe("a?[31mred?");
  expect(cell(["x", "y"])).toBe("x, y");
  expect(cell({ a: 1 })).toBe('{"a":1}');
});

test("a table cuts long values, but not what must be read whole", () => {
  const long = "x".repeat(200);
  const table = (cut?: "never") =>
    asText({ data: [{ a: long }] }, { is: "table", columns: [{ title: "a", at: "a", ...(cut ? { cut } : {}) }] });
  expect(table()).not.toContain(long);
  expect(table("never")).toContain(long);
});
