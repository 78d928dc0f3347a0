import { answersOf, headerComponents, makeRefusalBook, type RefusalBook } from "./openapi/answers.ts";
import { type Json, makeSchemaBook, type SchemaBook } from "./openapi/schemas.ts";
import type { Route } from "./route.ts";
import { PAGES_TAG } from "./routes/operations.ts";

export type DocumentKind = "api" | "manage";

export type DocumentOrder = {
  readonly kind: DocumentKind;
  readonly routes: readonly Route[];
  readonly title: string;
  readonly version: string;
  /** Where the gateway is reached, without a path. */
  readonly serverUrl: string;
};

const API_PREFIX = "/v1";
const MANAGE_PREFIX = "/manage";

const ABOUT: Readonly<Record<DocumentKind, string>> = {
  api: [
    "One base address for many models and providers. Clients of the chat-completions dialect work by changing only the base address.",
    "Send the key as `Authorization: Bearer <key>` or as `x-api-key: <key>`; when both are there, `Authorization` counts.",
    "Every answer says who served it: model, provider, sovereignty level and countries are in its `X-Svc-*` headers.",
    "Every refusal is `{ error: { message, type, code, param?, request_id } }`.",
  ].join("\n\n"),
  manage: [
    "What an operator can do: workspaces, members, keys, policy, wallet and the request log. The commands of `bin/gateway` are made of it.",
    "Send the operator token, or a workspace's management token, as `Authorization: Bearer <token>`; the portal sends the session of a person. What a role in the workspace does not open is refused with `insufficient_role`, and what belongs to another workspace is not found.",
    'A list is `{ "data": [...], "next": cursor or null }`, newest first; money is a decimal string with its currency beside it; times are ISO 8601 in UTC.',
  ].join("\n\n"),
};

const TAGS: Readonly<Record<string, string>> = {
  Embeddings: "Vectors for texts, from every provider in one shape.",
  Decisions: "Typed questions about a state, answered with probabilities.",
  Requests: "What one request cost and who served it, by its id.",
  "Spend limits": "What workspaces, members and keys may spend in a day and in a month.",
  Prices: "Exchange rates and the operator's margin.",
  Alerts: "Mail and signed webhooks when money runs low or a limit fills up.",
  "Own provider keys": "Keys of a workspace's own at providers: what they serve is not charged.",
  Nodes: "Machines of a workspace's own: they connect out, and serve it at no cost.",
  "Capture windows": "Keeping requests and answers for a time, sealed, opened on purpose.",
  Chat: "Chat completions on every model of the catalogue.",
  Messages: "The messages dialect on every chat model; Claude models get the body as it was sent.",
  Responses: "The responses dialect on every chat model, with stored and background responses.",
  Audio: "Speech from text, and transcripts of speech.",
  Models: "Models that the key may use.",
  Keys: "API keys.",
  Catalogue: "The public catalogue: models, families, creators, providers, prices and sovereignty. No key needed.",
  Documents: "The API described: for programs and for people.",
  Operation: "How the gateway is doing.",
  Workspaces: "Workspaces: tenants with keys, a policy and a wallet.",
  "Management tokens": "What programs manage a workspace with: as an admin, or only for reading.",
  Members: "People in a workspace, and whether they may have keys of their own.",
  People: "Signing in, one's own account, and who can sign in at all.",
  Policy: "Which endpoints may serve a workspace.",
  Routers:
    "How a workspace chooses among models, with every version kept; decisions explained and past traffic replayed.",
  Wallet: "Money: balance, credits, what goes back, payment orders and the ledger.",
  Payments: "Where payment providers say what was paid. Not for callers.",
  "Stored responses": "Answers that are kept for the callers of the responses dialect, and their removal.",
  Proofs: "Recorded probes of endpoints for decisions and speech; an endpoint without a proof is not called.",
  "Request log": "Every request: model, provider, level, cost and routing decision. Never content.",
};

/** The OpenAPI 3.1 document of the routes of one kind; the same routes give the same document. */
export function openApiDocument({ kind, routes, title, version, serverUrl }: DocumentOrder): Json {
  const shown = routes.filter((route) => isShown(route, kind));
  const book = makeSchemaBook();
  const refusals = makeRefusalBook();
  const paths = pathsOf(shown, { kind, serverUrl, book, refusals });
  const responses = refusals.named();
  return {
    openapi: "3.1.0",
    info: {
      title,
      version,
      description: ABOUT[kind],
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: kind === "api" ? `${serverUrl}${API_PREFIX}` : serverUrl }],
    tags: [...new Set(shown.map(({ tag }) => tag))].map((name) => ({ name, description: TAGS[name] ?? "" })),
    paths,
    components: {
      securitySchemes: securitySchemes(kind),
      headers: headerComponents({ paths, responses }),
      responses,
      schemas: book.named(),
    },
  };
}

function isShown({ path, tag }: Route, kind: DocumentKind): boolean {
  return tag !== PAGES_TAG && path.startsWith(MANAGE_PREFIX) === (kind === "manage");
}

type DocumentContext = Pick<DocumentOrder, "kind" | "serverUrl"> & {
  readonly book: SchemaBook;
  readonly refusals: RefusalBook;
};

function pathsOf(routes: readonly Route[], context: DocumentContext): Json {
  const { kind, serverUrl } = context;
  const paths = new Map<string, Record<string, unknown>>();
  for (const route of routes) {
    const isUnderBase = kind === "manage" || route.path.startsWith(`${API_PREFIX}/`);
    const path = (kind === "api" && isUnderBase ? route.path.slice(API_PREFIX.length) : route.path).replaceAll(
      "+}",
      "}",
    );
    const item = paths.get(path) ?? (isUnderBase ? {} : { servers: [{ url: serverUrl }] });
    item[route.method.toLowerCase()] = operation(route, context);
    paths.set(path, item);
  }
  return Object.fromEntries(paths);
}

function operation(route: Route, { book, refusals }: DocumentContext): Json {
  const { id, tag, summary, description } = route;
  const parameters = [
    ...pathParameters(route.path),
    ...namedParameters("query", route.query, book),
    ...namedParameters("header", route.headers, book),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(route, book),
    responses: answersOf(route, book, refusals),
    security: securityOf(route),
  };
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)(\+?)\}/g)].map(([, name, rest]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
    ...(rest === "+" ? { description: "May contain slashes, written as they are." } : {}),
  }));
}

function namedParameters(place: "query" | "header", fields: Route["query"], book: SchemaBook): Json[] {
  if (fields === undefined) return [];
  const { shape } = fields;
  const required = new Set(Object.keys(shape).filter((name) => !shape[name]?.safeParse(undefined).success));
  return Object.entries(shape).map(([name, field]) => {
    const { description, ...schema } = book.of(field);
    return {
      name,
      in: place,
      ...(description === undefined ? {} : { description }),
      ...(required.has(name) ? { required: true } : {}),
      schema,
    };
  });
}

function requestBody({ body, bodyOptional, intake, example }: Route, book: SchemaBook): Json {
  if (body === undefined) return {};
  const shown = example?.body === undefined ? {} : { example: example.body };
  const contentType = intake === "multipart" ? "multipart/form-data" : "application/json";
  const content = { [contentType]: { schema: book.of(body), ...shown } };
  return { requestBody: { required: bodyOptional !== true, content } };
}

function securitySchemes(kind: DocumentKind): Json {
  if (kind === "manage")
    return {
      operator: {
        type: "http",
        scheme: "bearer",
        description:
          "The operator token of the gateway, a workspace's management token, or a session of the command line.",
      },
      session: {
        type: "apiKey",
        in: "cookie",
        name: "session",
        description: "The session of a person who signed in to the portal.",
      },
    };
  return {
    bearer: { type: "http", scheme: "bearer", description: "An API key, `sk_svc_…`." },
    apiKey: { type: "apiKey", in: "header", name: "x-api-key", description: "The same key in its own header." },
  };
}

function securityOf({ access }: Route): Json[] {
  switch (access.by) {
    case "anyone":
      return [];
    case "manager":
      return [{ operator: [] }, { session: [] }];
    case "key":
      return [{ bearer: [] }, { apiKey: [] }];
  }
}
