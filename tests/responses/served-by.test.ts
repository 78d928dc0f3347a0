import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { type Caller, callerWith, framesOf, gate, replyingWith, WAYS, type Way } from "../support/response-callers.ts";
import { eventsIn } from "../support/responses-native.ts";
import { MODEL, openScene, type Scene } from "../support/scene.ts";

const HEADERS = ["model", "provider", "sovereignty-level", "compute-countries", "upstream-surface"] as const;

/** Headers that identify the provider, in the order of the list. */
const headersOf = ({ headers }: { readonly headers: Headers }) => HEADERS.map((name) => headers.get(`x-svc-${name}`));
const NOTHING = HEADERS.map(() => null);

describe.each(["translated", "native"] as const)("%s", (way: Way) => {
  let scene: Scene;
  let tenant: Tenant;
  let caller: Caller;
  const upstream = () => scene.at(WAYS[way]);
  beforeAll(async () => {
    scene = await openScene([WAYS[way]]);
  });
  afterAll(() => scene.close());
  beforeEach(async () => {
    tenant = await scene.gateway.tenant();
    caller = callerWith(scene.gateway, tenant.key);
    upstream().always(replyingWith(way, ["Hello", " there"]));
  });

  /** The head of a response; its body is discarded. */
  const headOf = async (path: string, body?: unknown) => {
    const head = await fetch(`${scene.gateway.url}/v1/responses${path}`, {
      headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    await head.body?.cancel();
    return head;
  };
  const served = async () => headersOf(await caller.post({ store: false }));
  /** The first token, and the rest once the gate opens. */
  const pausing = (closed: Promise<void>) => {
    const frames = framesOf(way, ["Hello", " there"]);
    const cut = frames.findIndex((frame) => frame.includes("Hello")) + 1;
    return { frames: [...frames.slice(0, cut), { data: frames.slice(cut).join(""), afterMs: 0, gate: closed }] };
  };

  test("HDR-02 HDR-03 a stored response has the same provider headers as the original, whole and streamed", async () => {
    const whole = await caller.post();
    expect(headersOf(whole)).toEqual([
      MODEL,
      WAYS[way],
      expect.stringMatching(/^L\d/),
      expect.any(String),
      surfaceOf(way),
    ]);
    const found = await caller.get(whole.body.id);
    expect(headersOf(found)).toEqual(headersOf(whole));
    expect(found.body).toEqual(whole.body);
    const streamed = await caller.post({ stream: true });
    expect(headersOf(await caller.get(eventsIn(streamed.text).at(-1).response.id))).toEqual(headersOf(streamed));
  });

  test("HDR-02 HDR-03 RESP-04 a background run has provider headers once answered, and its body has none of it", async () => {
    const made = await caller.post({ background: true });
    expect(headersOf(made)).toEqual(NOTHING);
    const { id } = made.body;
    const done = await caller.once(id, "completed");
    expect(headersOf(await caller.get(id))).toEqual(await served());
    expect(JSON.stringify(done)).not.toContain("x-svc-");
  });

  test("HDR-08 RESP-04 a stream of a background run has provider headers if known when it begins", async () => {
    const known = await served();
    const held = gate();
    upstream().next(pausing(held.closed));
    const first = await headOf("", { model: MODEL, input: "Hi", background: true, stream: true });
    expect(headersOf(first)).toEqual(NOTHING);
    const id = first.headers.get("x-svc-request-id") ?? "";
    await expect.poll(async () => headersOf(await headOf(`/${id}?stream=true`))).toEqual(known);
    held.open();
    await caller.once(id, "completed");
    for (const query of ["?stream=true", "?stream=true&starting_after=3", ""])
      expect(headersOf(await headOf(`/${id}${query}`))).toEqual(known);
  });

  test("HDR-02 RESP-04 cancelled after output began: the headers name the provider; earlier or refused: none", async () => {
    const held = gate();
    upstream().next(pausing(held.closed));
    const { id } = (await caller.post({ background: true })).body;
    await expect.poll(async () => (await caller.get(id)).headers.get("x-svc-provider")).toBe(WAYS[way]);
    await caller.cancel(id);
    const cancelled = await caller.get(id);
    expect([cancelled.body.status, headersOf(cancelled)]).toEqual(["cancelled", await served()]);
    held.open();
    const never = gate();
    const arriving = upstream().arrived(upstream().requests.length + 1);
    upstream().next({ gate: never.closed });
    const unanswered = (await caller.post({ background: true })).body.id;
    await arriving;
    await caller.cancel(unanswered);
    never.open();
    upstream().next({ status: 400, json: { error: { message: "no such thing", type: "invalid_request_error" } } });
    const refused = (await caller.post({ background: true })).body.id;
    await caller.once(refused, "failed");
    for (const one of [unanswered, refused]) expect(headersOf(await caller.get(one))).toEqual(NOTHING);
  });

  test("LOG-01 KEY-10 members see the provider of their own responses, and no other response; admins see all", async () => {
    const workspace = `/workspaces/${tenant.slug}`;
    await scene.gateway.manage("PATCH", `${workspace}/key-policy`, { personal_keys: true, approval: false });
    const keyOf = async (email: string): Promise<string> =>
      (await scene.gateway.manage("POST", `${workspace}/keys`, { member: email }))["key"] as Json;
    for (const role of ["member", "admin"])
      await scene.gateway.manage("POST", `${workspace}/members`, { email: `${role}@example.eu`, role });
    const callerOf = async (email: string) => callerWith(scene.gateway, await keyOf(email));
    const [member, again, admin] = [
      await callerOf("member@example.eu"),
      await callerOf("member@example.eu"),
      await callerOf("admin@example.eu"),
    ];
    const [hers, ours] = [(await member.post()).body.id, (await caller.post()).body.id];
    const known = await served();
    for (const one of [caller, admin, member, again]) expect(headersOf(await one.get(hers))).toEqual(known);
    for (const one of [caller, admin]) expect(headersOf(await one.get(ours))).toEqual(known);
    const others = await member.get(ours);
    expect([others.status, headersOf(others)]).toEqual([404, NOTHING]);
  });
});

function surfaceOf(way: Way): string {
  return way === "native" ? "responses" : "chat";
}
