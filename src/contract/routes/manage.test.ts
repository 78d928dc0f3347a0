import { expect, test } from "vitest";
import { z } from "zod";
import { FAULTS } from "../faults.ts";
import { Money } from "../schemas/manage-values.ts";
import { MANAGE_ROUTES } from "./manage.ts";

test("every management route says who may call it and whose the thing is, has its own id and its own place", () => {
  for (const route of MANAGE_ROUTES) {
    const { access } = route;
    expect(access.by, route.id).toBe("manager");
    // A role is a role in a workspace: without one the guard could not tell whether the caller has it.
    if (access.by === "manager" && access.of === "nothing")
      expect(["operator", "person"], route.id).toContain(access.allows);
    expect(route.path.startsWith("/manage/"), route.id).toBe(true);
    for (const code of route.faults) expect(FAULTS).toHaveProperty(code);
  }
  expect(new Set(MANAGE_ROUTES.map((route) => route.id)).size).toBe(MANAGE_ROUTES.length);
  expect(new Set(MANAGE_ROUTES.map((route) => `${route.method} ${route.path}`)).size).toBe(MANAGE_ROUTES.length);
});

test.each(MANAGE_ROUTES)("the examples of $id fit their schemas", ({ body, answer, example }) => {
  expect(example?.answer).toBeDefined();
  if (answer.is === "json") expect(answer.schema.safeParse(example?.answer).error).toBeUndefined();
  if (body !== undefined) expect(body.safeParse(example?.body).error).toBeUndefined();
});

test("a route reads a body exactly when it has a schema for it", () => {
  for (const route of MANAGE_ROUTES) expect(route.intake, route.id).toBe(route.body === undefined ? "none" : "json");
});

type Schema = z.core.JSONSchema.JSONSchema;

const MONEY = Money.meta()?.["example"];

/** Places of money that no object around it has a currency for. */
function bareMoney(schema: Schema, defs: Readonly<Record<string, Schema>>, at: string): string[] {
  const named = schema.$ref === undefined ? schema : defs[schema.$ref.replace("#/$defs/", "")];
  if (named === undefined) throw new Error(`${at} is of a schema that is not there`);
  if (named.properties !== undefined && "currency" in named.properties) return [];
  if (named["example"] === MONEY) return [at];
  const parts = [
    ...Object.entries(named.properties ?? {}),
    ...[named.items, named.additionalProperties].map((part) => ["[]", part] as const),
    ...[...(named.anyOf ?? []), ...(named.oneOf ?? [])].map((part) => ["", part] as const),
  ];
  return parts.flatMap(([name, part]) =>
    typeof part === "object" && !Array.isArray(part) ? bareMoney(part, defs, `${at}.${name}`) : [],
  );
}

test.each(MANAGE_ROUTES)("BILL-01 the answer of $id has no money without its currency", ({ answer }) => {
  if (answer.is !== "json") return;
  const schema = z.toJSONSchema(answer.schema, { io: "output", unrepresentable: "any" });
  expect(bareMoney(schema, schema.$defs ?? {}, "answer")).toEqual([]);
});
