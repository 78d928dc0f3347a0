import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sampleForPattern } from "./pattern-sampler.ts";
import { sampleSchema } from "./schema-sampler.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: false });

function problemOf(schema: unknown): string | undefined {
  const sampled = sampleSchema(schema);
  return sampled.is === "problem" ? sampled.problem : undefined;
}

const tree = {
  $ref: "#/$defs/node",
  $defs: {
    node: {
      type: "object",
      properties: {
        label: { type: "string" },
        children: { type: "array", items: { $ref: "#/$defs/node" } },
        next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] },
      },
      required: ["label", "children", "next"],
      additionalProperties: false,
    },
  },
};

const SCHEMAS: readonly (readonly [string, object])[] = [
  ["an empty schema", {}],
  ["a string", { type: "string", minLength: 30, maxLength: 31 }],
  ["a short string", { type: "string", maxLength: 2 }],
  ["a pattern", { type: "string", pattern: "^[A-Z]{3}-\\d{2,4}(?:x|y)+$" }],
  ["an enum", { enum: ["b", "a"] }],
  ["a constant null", { const: null }],
  ["a nullable type", { type: ["null", "integer"], minimum: 3 }],
  ["numbers with limits", { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 0.5 }],
  ["a multiple", { type: "integer", minimum: 11, maximum: 20, multipleOf: 5 }],
  ["negative numbers", { type: "integer", maximum: -4 }],
  ["a tuple", { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }], items: false, minItems: 2 }],
  ["different items", { type: "array", items: { type: "string" }, minItems: 4, uniqueItems: true }],
  ["different values", { type: "array", items: { enum: [1, 2, 3] }, minItems: 3, uniqueItems: true }],
  ["a recursive schema", tree],
  [
    "itself as root",
    { type: "object", properties: { sub: { anyOf: [{ type: "null" }, { $ref: "#" }] } }, required: ["sub"] },
  ],
  ["allOf", { allOf: [{ type: "object", required: ["a"] }, { properties: { a: { type: "integer", minimum: 9 } } }] }],
  [
    "anyOf beside properties",
    {
      type: "object",
      properties: { kind: { type: "string" }, size: { type: "integer" } },
      anyOf: [{ required: ["kind"] }, { required: ["size"] }],
    },
  ],
  [
    "a discriminated union",
    { oneOf: [{ type: "object", properties: { t: { const: "a" } }, required: ["t"] }, { type: "integer" }] },
  ],
  ["a property named like a prototype's", { type: "object", required: ["constructor", "toString"] }],
  ["many properties", { type: "object", minProperties: 3, additionalProperties: { type: "boolean" } }],
  ["an escaped reference", { $ref: "#/$defs/a~1b%25", $defs: { "a/b%": { type: "boolean" } } }],
];

describe("sampleSchema", () => {
  test.each(SCHEMAS)("satisfies %s", (_name, schema) => {
    const sampled = sampleSchema(schema);
    expect(sampled).toMatchObject({ is: "value" });
    const valid = ajv.validate(schema, sampled.is === "value" ? sampled.value : undefined);
    expect(ajv.errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  test("generated schemas are satisfied or rejected, never answered wrongly", () => {
    const { schema } = fc.letrec((tie) => ({
      schema: fc.oneof(
        { maxDepth: 3 },
        fc.record({ type: fc.constant("string"), minLength: fc.nat(20) }),
        fc.record({
          type: fc.constant("integer"),
          minimum: fc.integer({ min: -50, max: 50 }),
          multipleOf: fc.integer({ min: 1, max: 9 }),
        }),
        fc.record({ enum: fc.array(fc.oneof(fc.string(), fc.integer()), { minLength: 1 }) }),
        fc.record({ type: fc.constant("array"), items: tie("schema"), minItems: fc.nat(3) }),
        fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
        fc.dictionary(fc.string({ minLength: 1, maxLength: 6 }), tie("schema"), { maxKeys: 3 }).map((properties) => ({
          type: "object",
          properties,
          required: Object.keys(properties),
          additionalProperties: false,
        })),
      ),
    }));
    fc.assert(
      fc.property(schema, (made) => {
        const sampled = sampleSchema(made);
        if (sampled.is === "problem") return;
        expect(ajv.compile(typeof made === "object" && made !== null ? made : {})(sampled.value)).toBe(true);
      }),
      { numRuns: 100, seed: 20261115 },
    );
  });

  test("an endlessly recursive schema is rejected", () => {
    const defs: Record<string, unknown> = { d0: { type: "string" } };
    for (let level = 1; level < 20; level += 1) {
      const $ref = `#/$defs/d${level - 1}`;
      defs[`d${level}`] = { type: "object", properties: { a: { $ref }, b: { $ref } }, required: ["a", "b"] };
    }
    expect(problemOf({ $ref: "#/$defs/d19", $defs: defs })).toContain("too large");
    expect(problemOf({ $ref: "#" })).toContain("endless");
    expect(problemOf({ type: "array", minItems: 1e9 })).toContain("too large");
    expect(problemOf({ type: "string", minLength: 1e9 })).toContain("minLength");
  });

  test("unsupported keywords are named", () => {
    expect(problemOf({ not: { type: "string" } })).toContain("not");
    expect(problemOf({ $ref: "https://example.com/schema" })).toContain("local");
    expect(problemOf({ type: "string", pattern: "^(?=a)" })).toContain("look-around");
    expect(problemOf({ type: "integer", minimum: 5, maximum: 4 })).toContain("number");
  });
});

describe("sampleForPattern", () => {
  test.each([
    "^$",
    "^[a-z0-9_-]{3,16}$",
    "^\\+?[1-9]\\d{1,14}$",
    "^(GET|POST) /[\\w/]*$",
    "^[^a-zA-Z]+$",
    "^\\u0041\\x42\\.\\*$",
    "^(?<year>\\d{4})-(0[1-9]|1[0-2])$",
    "^\\D\\W\\S$",
    "^[\\d.]{2}[^\\s]$",
    "b{2",
  ])("matches %s", (pattern) => {
    expect(sampleForPattern(pattern)).toMatch(new RegExp(pattern));
  });

  test("unsupported patterns are rejected by name", () => {
    for (const pattern of ["(?!a)b", "(a", "a)", "(a)\\1", "[", "a{99999}", "\\p{Greek}", "\\"])
      expect(() => sampleForPattern(pattern), pattern).toThrow();
  });
});
