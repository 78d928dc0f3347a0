import { expect, test } from "vitest";
import { paginate } from "./page.ts";

const items = [3, 1, 2, 2, 5].map((createdAtMs, index) => ({ id: `id_${index}`, createdAtMs }));

test("pages are newest first and contain every row once", () => {
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = paginate(items, 2, cursor);
    seen.push(...page.rows.map((row) => row.id));
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
  expect(seen).toEqual(["id_4", "id_0", "id_3", "id_2", "id_1"]);
});

test("a cursor stays valid after its row is removed", () => {
  const { next } = paginate(items, 2, undefined);
  const rest = items.filter((item) => item.id !== "id_0");
  expect(paginate(rest, 9, next ?? "").rows.map((row) => row.id)).toEqual(["id_3", "id_2", "id_1"]);
});

test("the last page has no next, and an invalid cursor is rejected by name", () => {
  expect(paginate(items, 5, undefined).next).toBeNull();
  expect(paginate([], 5, undefined)).toEqual({ rows: [], next: null });
  expect(() => paginate(items, 5, "nonsense")).toThrowError(expect.objectContaining({ param: "cursor" }));
});
