import type { Route } from "../../src/contract/route.ts";
import { ROUTES } from "../../src/contract/routes.ts";
import type { Called, Json } from "../support/gateway.ts";
import { type Browser, type PeopleGateway, peopleGateway } from "../support/people.ts";

/** Current routes of the management API: a new route is part of every test in this folder. */
export const MANAGED = ROUTES.flatMap((route) =>
  route.access.by === "manager" ? [{ ...route, access: route.access }] : [],
);
export type Managed = (typeof MANAGED)[number];

/** Resources of one workspace, of every kind that a route can name. */
export type Things = {
  readonly workspace: string;
  readonly workspaceId: string;
  readonly key: string;
  readonly keySecret: string;
  readonly request: string;
  readonly capture: string;
  readonly router: string;
  readonly order: string;
  readonly response: string;
  readonly token: string;
  readonly invitation: string;
  readonly provider: string;
  readonly node: string;
  readonly class: string;
  readonly member: string;
  readonly memberId: string;
  /** Of the member: a personal key, and a request with it. */
  readonly memberKey: string;
  readonly memberKeySecret: string;
  readonly memberRequest: string;
};

const PROVIDERS = { alpha: "mistral", beta: "deepinfra" } as const;

export type Scene = Awaited<ReturnType<typeof openScene>>;

/** Two workspaces with people, tokens and resources of every kind. */
export async function openScene(env: Record<string, string> = {}) {
  const gateway = await peopleGateway({
    env: {
      GATEWAY_RPM_IP: "0",
      GATEWAY_RPM_MANAGE: "0",
      GATEWAY_SIGN_IN_ADDRESS_TRIES: "100000",
      GATEWAY_PAYMENTS: "webhook",
      GATEWAY_PAYMENT_WEBHOOK_SECRETS: "secret-of-payments-7215ee9c7d9dc229d2921a40e899ec5f",
      ...env,
    },
  });
  const operator = await gateway.setUp();
  for (const slug of ["alpha", "beta"]) {
    await gateway.manage("POST", "/workspaces", { slug });
    await gateway.manage("POST", `/workspaces/${slug}/wallet/credits`, { amount: "50" });
    await gateway.manage("PATCH", `/workspaces/${slug}/key-policy`, { personal_keys: true });
  }
  const people = {
    operator,
    owner: await gateway.join("owner@alpha.example", "owner", "alpha"),
    admin: await gateway.join("admin@alpha.example", "admin", "alpha"),
    member: await gateway.join("member@alpha.example", "member", "alpha"),
    outsider: await gateway.join("owner@beta.example", "owner", "beta"),
    betaMember: await gateway.join("member@beta.example", "member", "beta"),
    ended: await gateway.join("ended@alpha.example", "owner", "alpha"),
  };
  const endedCookie = cookieOf(people.ended);
  await people.ended.post("/manage/auth/sign-out", {});
  const alpha = await thingsOf(gateway, "alpha");
  const beta = await thingsOf(gateway, "beta");
  const token = async (slug: string, more: Record<string, string>): Promise<Json> =>
    gateway.manage("POST", `/workspaces/${slug}/tokens`, { name: "matrix", access: "write", ...more });
  const revoked = await token("alpha", {});
  await gateway.manage("DELETE", `/workspaces/alpha/tokens/${revoked.id}`);
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
  const made = {
    write: (await token("alpha", {})).token,
    read: (await token("alpha", { access: "read" })).token,
    beta: (await token("beta", {})).token,
    expired: (await token("alpha", { expires_at: "2020-01-01" })).token,
  };
  /** Callers by name, with their headers. */
  const callers = {
    anonymous: {},
    "API key": bearer(alpha.keySecret),
    "API key of the member": bearer(alpha.memberKeySecret),
    "operator token": bearer(gateway.adminToken),
    "operator person": browserHeaders(gateway, operator),
    owner: browserHeaders(gateway, people.owner),
    admin: browserHeaders(gateway, people.admin),
    member: browserHeaders(gateway, people.member),
    "member, of what is another's": browserHeaders(gateway, people.member),
    "owner of another workspace": browserHeaders(gateway, people.outsider),
    "write token": bearer(made.write),
    "read token": bearer(made.read),
    "write token of another workspace": bearer(made.beta),
    "revoked token": bearer(revoked.token),
    "expired token": bearer(made.expired),
    "session that ended": { origin: gateway.url, cookie: endedCookie },
  };
  return {
    gateway,
    people,
    callers,
    alpha,
    beta,
    secrets: [...Object.values(made), revoked.token, gateway.adminToken],
  };
}

export type Caller = keyof Scene["callers"];

function cookieOf({ cookies }: Browser): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
}

function browserHeaders({ url }: PeopleGateway, browser: Browser) {
  return { origin: url, "sec-fetch-site": "same-origin", cookie: cookieOf(browser) };
}

export const CHAT = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello." }] };

async function thingsOf(gateway: PeopleGateway, slug: "alpha" | "beta"): Promise<Things> {
  const at = `/workspaces/${slug}`;
  const make = (path: string, body: unknown): Promise<Json> => gateway.manage("POST", `${at}${path}`, body);
  const key = await make("/keys", { name: `key of ${slug}`, environment: "live" });
  const answer = await gateway.call(key.key, "/v1/chat/completions", { body: CHAT });
  const stored = await gateway.call(key.key, "/v1/responses", {
    body: { model: "sandbox/chat", input: "Hello.", store: true },
  });
  const member = `member@${slug}.example`;
  const own = await make("/keys", { member, environment: "live" });
  const ownAnswer = await gateway.call(own.key, "/v1/chat/completions", { body: CHAT });
  const { data: members }: Json = await gateway.manage("GET", `${at}/members`);
  await gateway.manage("PUT", `${at}/routers/router-${slug}`, { weights: { latency: 1 } });
  await gateway.manage("PUT", `${at}/providers/${PROVIDERS[slug]}`, {
    key: `own-key-of-${slug}-4b825dc6`,
    skip_test: true,
  });
  return {
    workspace: slug,
    workspaceId: (await gateway.manage("GET", at)).id,
    key: key.id,
    keySecret: key.key,
    request: answer.body.id,
    capture: (await make("/capture-windows", { minutes: 60 })).id,
    router: `router-${slug}`,
    order: (await make("/wallet/orders", { amount: "5", currency: "EUR", reference: `order-${slug}` })).id,
    response: stored.body.id,
    token: (await make("/tokens", { name: "kept", access: "read" })).id,
    invitation: (await make("/invitations", { email: `later@${slug}.example`, role: "member" })).id,
    provider: PROVIDERS[slug],
    node: (await make("/nodes", { name: `node-of-${slug}`, country: "DE" })).name,
    class: (await gateway.manage("PUT", `${at}/data-classes/class-of-${slug}`, { terms: ["Blue Dune"] })).name,
    member,
    memberId: members.find((one: Json) => one.email === member).id,
    memberKey: own.id,
    memberKeySecret: own.key,
    memberRequest: ownAnswer.body.id,
  };
}

/** The kind of resource that a path parameter names. */
export function kindOf({ path, access }: Managed, name: string): keyof Things | undefined {
  if (name === "workspace") return "workspace";
  if (name === "email") return "member";
  if (name === "router" || name === "provider" || name === "node" || name === "class") return name;
  if (name !== "id") return undefined;
  if (access.of === "key" || access.of === "request" || access.of === "capture") return access.of;
  const folder = /\/(\w+)\/\{id\}/.exec(path)?.[1] ?? "";
  return FOLDERS.get(folder);
}

const FOLDERS: ReadonlyMap<string, keyof Things> = new Map([
  ["orders", "order"],
  ["responses", "response"],
  ["tokens", "token"],
  ["invitations", "invitation"],
]);

type Values = Readonly<Record<string, string>>;

/** The path of a route with values for its parameters; a workspace of the query goes there. */
export function pathOf({ path, access }: Managed, values: Values): string {
  const filled = path.replace(/\{(\w+)\+?\}/g, (_, name: string) => encodeURIComponent(values[name] ?? "nothing"));
  return access.of === "query" ? `${filled}?workspace=${values["workspace"]}` : filled;
}

export function paramsOf({ path }: Pick<Route, "path">): string[] {
  return [...path.matchAll(/\{(\w+)\+?\}/g)].map((match) => match[1] ?? "");
}

/** One call; the body is the route's own example by default. */
export function ask(
  { gateway }: Pick<Scene, "gateway">,
  route: Managed,
  path: string,
  headers: Record<string, string>,
  body: unknown = route.example?.body,
): Promise<Called> {
  return gateway.call("", path, {
    method: route.method,
    headers,
    ...(route.body === undefined ? {} : { body: body ?? {} }),
  });
}

/** A response without the parts that differ between any two calls. */
export function bare(text: string, ...names: readonly string[]): string {
  const plain = text.replace(/req_[0-9a-f]+/g, "REQUEST");
  return names.reduce(
    (text, name) => text.replaceAll(name, "NAME").replaceAll(encodeURIComponent(name), "NAME"),
    plain,
  );
}
