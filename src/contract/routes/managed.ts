import type { z } from "zod";
import type { FaultCode } from "../faults.ts";
import type { Access, Route } from "../route.ts";

type Management = Extract<Access, { by: "manager" }>;

/** Its schemas keep their own types: `operations.ts` is made of them. */
type ManagedRouteSpec<Id, Path, Query, Body, Answer> = {
  readonly id: Id;
  readonly method: Route["method"];
  readonly path: Path;
  readonly allows: Management["allows"];
  /** Absent: the workspace is a part of the path, or there is none. */
  readonly of?: Management["of"];
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly query?: Query;
  readonly body?: Body;
  /** Absent: what is enough for settings. */
  readonly bodyMaxBytes?: number;
  readonly bodyOptional?: true;
  readonly answer: Answer;
  /** Absent: reads are compressed, changes are not, because they may return secrets. */
  readonly compressed?: boolean;
  /** The type of a second form of the answer. */
  readonly or?: string;
  readonly status?: 200 | 201;
  readonly faults?: readonly FaultCode[];
  readonly example?: NonNullable<Route["example"]>;
};

/** Enough for settings; routes that take whole requests set their own limit. */
const MANAGE_BODY_MAX_BYTES = 1024 * 1024;

/** What all management routes share: who may call them, JSON in and out, no per-key window. */
export function managed<
  const Id extends string,
  const Path extends string,
  Answer extends z.ZodType,
  Query extends z.ZodObject | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(spec: ManagedRouteSpec<Id, Path, Query, Body, Answer>) {
  const { id, path, allows, of, query, body, answer, compressed, or, status = 200, faults = [], ...rest } = spec;
  const { bodyMaxBytes = MANAGE_BODY_MAX_BYTES } = spec;
  const route: Route = {
    ...rest,
    id,
    path,
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body, bodyMaxBytes }),
    access: managerAccess(path, allows, of),
    intake: body === undefined ? "none" : "json",
    counted: false,
    answer: { is: "json", status, schema: answer, ...(or === undefined ? {} : { or }) },
    ...((compressed ?? spec.method === "GET") ? { compressed: true } : {}),
    faults,
  };
  return { ...route, id, path, schemas: { query, body, answer } };
}

type Exported<Id, Path, Query> = Pick<
  ManagedRouteSpec<Id, Path, Query, undefined, undefined>,
  "id" | "path" | "allows" | "tag" | "summary" | "description"
> & {
  readonly query: Query;
  readonly contentType: string;
  readonly or: string;
  readonly example: { readonly answer: string };
};

/** A list as a stream of lines, in one of two forms. */
export function managedExport<const Id extends string, const Path extends string, Query extends z.ZodObject>(
  spoken: Exported<Id, Path, Query>,
) {
  const { id, path, allows, query, contentType, or, ...rest } = spoken;
  const route: Route = {
    ...rest,
    id,
    path,
    query,
    method: "GET",
    access: managerAccess(path, allows, undefined),
    intake: "none",
    counted: false,
    answer: { is: "text", contentType, or },
    faults: [],
  };
  return { ...route, id, path, schemas: { query, body: undefined, answer: undefined } };
}

function managerAccess(path: string, allows: Management["allows"], of: Management["of"] | undefined): Management {
  return { by: "manager", allows, of: of ?? (path.includes("{workspace}") ? "path" : "nothing") };
}
