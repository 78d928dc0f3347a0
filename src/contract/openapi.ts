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
    "One base URL for many models and providers. Clients of the chat-completions dialect only change the base URL and the key.",
    "Send the key as `Authorization: Bearer <key>` or as `x-api-key: <key>`. If both are sent, a bearer `Authorization` wins; any other scheme is ignored. Paths below `/v1beta` also take `x-goog-api-key` and the query parameter `key`.",
    "Every response states the model, provider, sovereignty level and countries that served it in its `X-Svc-*` headers.",
    "Every error is `{ error: { message, type, code, param?, request_id } }`.",
  ].join("\n\n"),
  manage: [
    "Manage workspaces, members, keys, policies, wallets and the request log. The commands of `bin/gateway` call this API.",
    "Send the operator token, or a management token of a workspace, as `Authorization: Bearer <token>`; the portal uses the session cookie of the signed-in user. A call that the role does not permit fails with `insufficient_role`; objects of other workspaces respond with 404.",
    'A list is `{ "data": [...], "next": cursor or null }`, newest first. Money is a decimal string with its currency beside it. Times are ISO 8601 in UTC.',
  ].join("\n\n"),
};

const TAGS: Readonly<Record<string, string>> = {
  Embeddings: "Embedding vectors for texts, from every provider in one format.",
  Decisions: "Typed questions about a state, answered with probabilities.",
  Requests: "Cost and serving endpoint of a request, by its id.",
  "Spend limits": "Spend limits of workspaces, members and keys, per day and per month.",
  Prices: "Exchange rates, and the operator's margin on provider prices.",
  Alerts: "Email and signed webhooks when the balance is low or a spend limit is nearly reached.",
  "Own provider keys": "A workspace's own provider keys. Requests served with them are not charged.",
  Nodes: "A workspace's own machines. They connect outbound and serve the workspace at no cost.",
  "Capture windows": "Temporary, encrypted capture of requests and responses.",
  Chat: "Chat completions with every chat model of the catalogue.",
  Messages: "The messages dialect with every chat model. Claude models receive the body unchanged.",
  Responses: "The responses dialect with every chat model, with stored and background responses.",
  Rerank: "Ranks documents by a query, in the formats of Jina and Cohere, over every rerank model.",
  Moderations: "Texts and images judged by category, in OpenAI's format, over every moderation model.",
  Images: "Images generated, edited and varied in OpenAI's format, over every image model. Nothing is stored.",
  Gemini: "Google's Gemini API with every chat and embeddings model. Gemini models receive the body unchanged.",
  Files: "Files with the requests of batches, and their results.",
  Batches: "Many requests at low priority, for every model, in the formats of OpenAI and Anthropic.",
  Audio: "Text-to-speech and transcription.",
  Models: "Models that the key can use.",
  Keys: "API keys.",
  Catalogue: "The public catalogue: models, families, creators, providers, prices and sovereignty. No key required.",
  Documents: "Documentation of this API, machine-readable and human-readable.",
  Operation: "Health and metrics of the gateway.",
  Workspaces: "Workspaces: tenants with keys, a policy and a wallet.",
  "Management tokens": "Tokens with which programs manage a workspace, with admin or read-only access.",
  Members: "Members of a workspace, and the rules for personal keys.",
  People: "Sign-in, your own account, and accounts on this gateway.",
  Policy: "Rules that decide which endpoints may serve a workspace.",
  Routers: "Versioned routing rules of a workspace, with explain and replay.",
  Wallet: "Balance, credits, refunds, payment orders and the ledger.",
  Payments: "Webhooks for payment providers. Not for callers.",
  "Response cache": "Replies kept for identical requests of a workspace: their size, and their deletion.",
  "Stored responses": "Responses stored for callers of the responses dialect, and their deletion.",
  Proofs: "Recorded probes of endpoints for decisions and speech. An endpoint without a valid proof is not called.",
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
    ...(rest === "+" ? { description: "May contain unescaped slashes." } : {}),
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

function requestBody({ body, orJson, bodyOptional, intake, example }: Route, book: SchemaBook): Json {
  if (body === undefined) return {};
  const shown = example?.body === undefined ? {} : { example: example.body };
  const contentType = intake === "multipart" ? "multipart/form-data" : "application/json";
  const json =
    orJson === undefined ? {} : { "application/json": { schema: book.of(orJson.schema), example: orJson.example } };
  const content = { [contentType]: { schema: book.of(body), ...shown }, ...json };
  return { requestBody: { required: bodyOptional !== true, content } };
}

function securitySchemes(kind: DocumentKind): Json {
  if (kind === "manage")
    return {
      operator: {
        type: "http",
        scheme: "bearer",
        description: "The operator token, a management token of a workspace, or a session of `gateway login`.",
      },
      session: {
        type: "apiKey",
        in: "cookie",
        name: "session",
        description: "The session of a user who signed in to the portal.",
      },
    };
  return {
    bearer: { type: "http", scheme: "bearer", description: "An API key, `sk_svc_…`." },
    apiKey: { type: "apiKey", in: "header", name: "x-api-key", description: "The same key in a separate header." },
    googleKey: {
      type: "apiKey",
      in: "header",
      name: "x-goog-api-key",
      description: "The same key in the header of Google's clients; only below `/v1beta`.",
    },
  };
}

function securityOf({ access, errors }: Route): Json[] {
  switch (access.by) {
    case "anyone":
      return access.optionalKey === true ? [{}, { bearer: [] }, { apiKey: [] }] : [];
    case "manager":
      return [{ operator: [] }, { session: [] }];
    case "key":
      return [{ bearer: [] }, { apiKey: [] }, ...(errors === "gemini" ? [{ googleKey: [] }] : [])];
  }
}
