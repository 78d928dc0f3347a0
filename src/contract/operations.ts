import type { z } from "zod";
import type { MANAGE_ROUTES } from "./routes/manage.ts";
import type { PEOPLE_ROUTES } from "./routes/people.ts";
import type { SIGN_IN_ROUTES } from "./routes/sign-in.ts";

/** Types only: what the portal sends to each management route and gets back, by the route's id. */
type Described = Extract<
  (typeof MANAGE_ROUTES | typeof PEOPLE_ROUTES | typeof SIGN_IN_ROUTES)[number],
  { readonly schemas: object }
>;

type Input<Schema> = [Schema] extends [undefined] ? undefined : z.input<Extract<Schema, z.ZodType>>;
type Output<Schema> = [Schema] extends [undefined] ? undefined : z.output<Extract<Schema, z.ZodType>>;

/** The names in braces of a path. */
type ParamNames<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Bare}+` ? Bare : Name) | ParamNames<Rest>
  : never;

export type Operations = {
  readonly [R in Described as R["id"]]: {
    readonly params: { readonly [Name in ParamNames<R["path"]>]: string };
    readonly query: Input<R["schemas"]["query"]>;
    readonly body: Input<R["schemas"]["body"]>;
    readonly answer: Output<R["schemas"]["answer"]>;
  };
};
