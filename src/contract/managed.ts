import type { z } from "zod";
import type { FaultCode } from "./faults.ts";
import type { Route } from "./route.ts";

type Said = {
  readonly id: string;
  readonly method: Route["method"];
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly answer: z.ZodType;
  readonly status?: 200 | 201;
  readonly faults?: readonly FaultCode[];
  readonly example?: NonNullable<Route["example"]>;
};

/** What all management routes share: the operator's token, JSON in and out, no per-key window. */
export function managed({ answer, status = 200, faults = [], ...said }: Said): Route {
  return {
    ...said,
    access: { by: "operator" },
    intake: said.body === undefined ? "none" : "json",
    counted: false,
    answer: { is: "json", status, schema: answer },
    faults,
  };
}
