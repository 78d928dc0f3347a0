import { z } from "zod";

export type Json = Readonly<Record<string, unknown>>;

/** Turns the schemas that validate into JSON Schema; the ones with an id are kept once and referred to. */
export type SchemaBook = {
  of(schema: z.ZodType): Json;
  /** The kept ones, by id, in alphabetical order. */
  named(): Json;
};

const DEFS = "#/$defs/";

export function makeSchemaBook(): SchemaBook {
  const kept = new Map<string, Json>();
  return {
    of(schema) {
      const { $schema: _, $defs: named, ...own } = plainJson(schema);
      for (const [id, found] of Object.entries(isJson(named) ? named : {})) keep(kept, id, pointHere(found));
      return asJson(pointHere(own));
    },
    named: () => Object.fromEntries([...kept].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function keep(kept: Map<string, Json>, id: string, schema: unknown): void {
  const before = kept.get(id);
  if (before !== undefined && JSON.stringify(before) !== JSON.stringify(schema))
    throw new Error(`two different schemas have the id ${id}`);
  kept.set(id, asJson(schema));
}

/** What a caller sends is described as it is sent; what the gateway answers may grow fields, so it stays open. */
function plainJson(schema: z.ZodType): Json {
  return {
    ...z.toJSONSchema(schema, {
      target: "draft-2020-12",
      io: "input",
      override: ({ jsonSchema }) => {
        // The format says it; the pattern that proves it is noise to a reader.
        if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      },
    }),
  };
}

/** References into a schema's own definitions become references into the document's components. */
function pointHere(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pointHere);
  if (!isJson(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) =>
      name === "$ref" && typeof inner === "string" && inner.startsWith(DEFS)
        ? [name, `#/components/schemas/${inner.slice(DEFS.length)}`]
        : [name, pointHere(inner)],
    ),
  );
}

function asJson(value: unknown): Json {
  return isJson(value) ? value : {};
}

function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
