import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { type Caller, callerWith, gate, replyingWith } from "../support/response-callers.ts";
import { openScene, type Scene } from "../support/scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene(["ionos"]);
  scene.at("ionos").always(replyingWith("translated", ["Hello"]));
});
afterAll(() => scene.close());

const refusal = ({ status, body }: Awaited<ReturnType<Caller["get"]>>, id: string) => ({
  status,
  code: body.error?.code,
  message: String(body.error?.message).replaceAll(id, "<id>"),
});

test("RESP-03 every operation on another workspace's response answers 404", async () => {
  const [mine, other] = [await scene.gateway.tenant(), await scene.gateway.tenant()];
  const [own, foreign] = [callerWith(scene.gateway, mine.key), callerWith(scene.gateway, other.key)];
  const done = (await own.post()).body.id;
  const held = gate();
  scene.at("ionos").next({ gate: held.closed });
  const running = (await own.post({ background: true })).body.id;
  await own.once(running, "in_progress");
  for (const id of [done, running]) {
    const none = `resp_${"0".repeat(32)}`;
    for (const operation of [
      foreign.get,
      foreign.remove,
      foreign.cancel,
      foreign.inputItems,
      (which: string) => foreign.get(which, "?stream=true"),
      (which: string) => foreign.post({ previous_response_id: which }),
    ]) {
      const answer = refusal(await operation(id), id);
      expect(answer).toEqual(refusal(await operation(none), none));
      expect([400, 404]).toContain(answer.status);
    }
    const item = (await own.inputItems(id)).body.data[0].id;
    const referred = await foreign.post({ input: [{ type: "item_reference", id: item }] });
    expect(referred.status).toBe(400);
  }
  // Nothing changed.
  expect((await own.get(done)).status).toBe(200);
  expect((await own.get(running)).body.status).toBe("in_progress");
  held.open();
  await own.cancel(running);
});

test("RESP-03 SCOPE-01 a response belongs to the workspace, with any of its keys; a key needs the chat scope", async () => {
  const tenant = await scene.gateway.tenant();
  const keyWith = async (scopes: readonly string[]) =>
    (await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/keys`, { name: "k", environment: "live", scopes }))
      .key;
  const made = await callerWith(scene.gateway, tenant.key).post();
  const second = callerWith(scene.gateway, await keyWith(["inference:chat"]));
  const outside = callerWith(scene.gateway, await keyWith(["inference:messages"]));
  const { id } = made.body;
  for (const operation of [outside.get, outside.remove, outside.cancel, outside.inputItems]) {
    const answer = await operation(id);
    expect([answer.status, answer.body.error.code]).toEqual([403, "insufficient_scope"]);
  }
  expect((await second.get(id)).body).toEqual(made.body);
  expect((await second.post({ previous_response_id: id })).status).toBe(200);
  expect((await second.remove(id)).status).toBe(200);
});

describe("KEY-10", () => {
  const tenantWithPersonalKeys = async () => {
    const { key, slug } = await scene.gateway.tenant();
    await scene.gateway.manage("PATCH", `/workspaces/${slug}/key-policy`, { personal_keys: true, approval: false });
    const join = (email: string, role: string) =>
      scene.gateway.manage("POST", `/workspaces/${slug}/members`, { email, role });
    const personal = async (email: string) =>
      callerWith(
        scene.gateway,
        (await scene.gateway.manage("POST", `/workspaces/${slug}/keys`, { member: email })).key,
      );
    for (const name of ["ann", "bob"]) await join(`${name}@example.eu`, "member");
    await join("admin@example.eu", "admin");
    return {
      workspace: callerWith(scene.gateway, key),
      ann: await personal("ann@example.eu"),
      annAgain: await personal("ann@example.eu"),
      bob: await personal("bob@example.eu"),
      admin: await personal("admin@example.eu"),
    };
  };

  test("KEY-10 for a member's personal key the responses of others are unknown ids, to every operation", async () => {
    const { workspace, ann, bob } = await tenantWithPersonalKeys();
    const none = `resp_${"0".repeat(32)}`;
    const held = gate();
    for (const owner of [workspace, bob]) {
      const done = (await owner.post()).body.id;
      scene.at("ionos").next({ gate: held.closed });
      const running = (await owner.post({ background: true })).body.id;
      await owner.once(running, "in_progress");
      for (const id of [done, running]) {
        for (const operation of [
          ann.get,
          ann.remove,
          ann.cancel,
          ann.inputItems,
          (which: string) => ann.get(which, "?stream=true"),
          (which: string) => ann.post({ previous_response_id: which }),
        ])
          expect(refusal(await operation(id), id)).toEqual(refusal(await operation(none), none));
        const item = (await owner.inputItems(id)).body.data[0].id;
        const referred = await ann.post({ input: [{ type: "item_reference", id: item }] });
        expect([referred.status, referred.body.error.param], referred.text).toEqual([400, "input.0.id"]);
      }
      expect((await owner.get(done)).status).toBe(200);
    }
    held.open();
  });

  test("KEY-10 KEY-03 workspace keys, admins and the member's other keys read, continue and delete a response", async () => {
    const { workspace, ann, annAgain, admin } = await tenantWithPersonalKeys();
    for (const reader of [workspace, admin, annAgain]) {
      const made = await ann.post();
      const { id } = made.body;
      expect((await reader.get(id)).body).toEqual(made.body);
      expect((await reader.inputItems(id)).status).toBe(200);
      expect((await reader.post({ previous_response_id: id })).status).toBe(200);
      expect((await reader.remove(id)).status).toBe(200);
      expect((await ann.get(id)).status).toBe(404);
    }
  });

  test("KEY-10 a conversation that others continued is unknown to the member from there on", async () => {
    const { workspace, ann } = await tenantWithPersonalKeys();
    const first = (await ann.post({ input: "one" })).body.id;
    const second = (await workspace.post({ input: "two", previous_response_id: first })).body.id;
    const refused = await ann.post({ previous_response_id: second });
    expect([refused.status, refused.body.error.code]).toEqual([400, "previous_response_not_found"]);
    expect((await ann.post({ previous_response_id: first })).status).toBe(200);
  });
});

test("RESP-05 under zero data retention nothing is stored by default, and a request to store is refused by name", async () => {
  const strict = await openScene(["scaleway"]);
  const demanded = { zero_data_retention: true };
  const demands = [
    ({ slug }: Tenant) => strict.gateway.manage("PATCH", `/workspaces/${slug}/policy`, demanded),
    ({ keyId }: Tenant) => strict.gateway.manage("PATCH", `/keys/${keyId}`, { policy: demanded }),
  ];
  try {
    strict.at("scaleway").always(replyingWith("native", ["Hello"]));
    for (const demand of demands) {
      const tenant = await strict.gateway.tenant();
      const caller = callerWith(strict.gateway, tenant.key);
      const before = (await caller.post()).body.id;
      await demand(tenant);
      const callsBefore = strict.at("scaleway").requests.length;
      for (const field of ["store", "background"] as const) {
        const refused = await caller.post({ [field]: true });
        expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([
          400,
          "invalid_value",
          field,
        ]);
        expect(refused.body.error.message).toContain("zero data retention");
      }
      expect(strict.at("scaleway").requests).toHaveLength(callsBefore);
      const made = await caller.post();
      expect([made.status, made.body.store], made.text).toEqual([200, false]);
      expect((await caller.get(made.body.id)).status).toBe(404);
      expect((await caller.get(before)).status).toBe(200);
    }
  } finally {
    await strict.close();
  }
});

test("RESP-05 PARAM-05 a request with zero data retention is not stored by the gateway either", async () => {
  const caller = callerWith(scene.gateway, (await scene.gateway.tenant()).key);
  const provider = { zdr: true };
  for (const field of ["store", "background"] as const) {
    const refused = await caller.post({ provider, [field]: true });
    expect([refused.status, refused.body.error.param], refused.text).toEqual([400, field]);
    expect(refused.body.error.message).toContain("zero data retention");
  }
  const made = await caller.post({ provider });
  // Whether an endpoint promises it too is up to the catalogue: only the store matters here.
  if (made.status === 200) expect(made.body.store).toBe(false);
  else expect(made.body.error.code).toBe("zero_data_retention_required");
});

test("RESP-03 the paths work without /v1 too", async () => {
  const tenant = await scene.gateway.tenant();
  const made = await callerWith(scene.gateway, tenant.key).post();
  const found = await scene.gateway.call(tenant.key, `/responses/${made.body.id}`);
  expect(found.body).toEqual(made.body);
  expect((await scene.gateway.call(tenant.key, `/responses/${made.body.id}/input_items`)).status).toBe(200);
});

test("RESP-05 an operator lists and deletes stored responses and never sees their content", async () => {
  const tenant = await scene.gateway.tenant();
  const caller = callerWith(scene.gateway, tenant.key);
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) ids.push((await caller.post({ input: "the-question" })).body.id);
  const base = `/workspaces/${tenant.slug}/responses`;
  const page = await scene.gateway.manage("GET", `${base}?limit=2`);
  expect(page.data.map(({ id }: { id: string }) => id)).toEqual([ids[2], ids[1]]);
  expect(page.data[0]).toMatchObject({ status: "completed", background: false });
  expect(JSON.stringify(page)).not.toContain("the-question");
  expect((await scene.gateway.manage("GET", `${base}?cursor=${page.next}`)).data).toHaveLength(1);
  expect(await scene.gateway.manage("DELETE", `${base}/${ids[0]}`)).toEqual({ id: ids[0], deleted: true });
  await expect(scene.gateway.manage("DELETE", `${base}/${ids[0]}`)).rejects.toThrow("404");
  expect((await caller.get(ids[0] ?? "")).status).toBe(404);
  // A running one is ended first.
  const held = gate();
  scene.at("ionos").next({ gate: held.closed });
  const arriving = scene.at("ionos").arrived(scene.at("ionos").requests.length + 1);
  const running = (await caller.post({ background: true })).body.id;
  const request = await arriving;
  expect(await scene.gateway.manage("DELETE", base)).toEqual({ workspace: tenant.slug, deleted: 3 });
  held.open();
  expect(await request.over).toBe("aborted");
  expect((await caller.get(running)).status).toBe(404);
  const audit = await scene.gateway.manage("GET", `/audit?workspace=${tenant.slug}`);
  const actions = audit.data.map(({ action }: { action: string }) => action);
  expect(actions.slice(0, 2)).toEqual(["response.purge", "response.delete"]);
});

test("LOG-05 RESP-03 deleting or cancelling a response is in the audit log, with the key and without content", async () => {
  const tenant = await scene.gateway.tenant();
  const caller = callerWith(scene.gateway, tenant.key);
  const lines = async () => {
    const { data } = await scene.gateway.manage("GET", `/audit?workspace=${tenant.slug}&action=response`);
    return data.map(({ actor, action, target, detail }: Json) => ({ actor, action, target, detail }));
  };
  const actor = `key:${(await scene.gateway.call(tenant.key, "/v1/auth/validate")).body.api_key_id}`;
  const whole = (await caller.post({ input: "the-question" })).body.id;
  expect((await caller.remove("resp_none")).status).toBe(404);
  expect(await lines()).toEqual([]);
  expect((await caller.remove(whole)).status).toBe(200);
  expect((await caller.remove(whole)).status).toBe(404);
  const deleted = { actor, action: "response.delete", target: whole, detail: {} };
  expect(await lines()).toEqual([deleted]);
  const held = gate();
  scene.at("ionos").next({ gate: held.closed });
  const arriving = scene.at("ionos").arrived(scene.at("ionos").requests.length + 1);
  const running = (await caller.post({ background: true })).body.id;
  await arriving;
  // An ended response is not cancelled again.
  for (let time = 0; time < 2; time += 1) expect((await caller.cancel(running)).body.status).toBe("cancelled");
  held.open();
  expect(await lines()).toEqual([{ ...deleted, action: "response.cancel", target: running }, deleted]);
});

test("RESP-05 the command line lists, deletes and purges", async () => {
  const tenant = await scene.gateway.tenant();
  const caller = callerWith(scene.gateway, tenant.key);
  const [first, second] = [(await caller.post()).body.id, (await caller.post()).body.id];
  const listed = await scene.gateway.cli("responses", "list", tenant.slug);
  expect([listed.code, listed.stdout.includes(first), listed.stdout.includes(second)]).toEqual([0, true, true]);
  expect((await scene.gateway.cli("responses", "delete", tenant.slug, first)).code).toBe(0);
  expect((await scene.gateway.cli("responses", "delete", tenant.slug, first)).code).toBe(1);
  const purged = await scene.gateway.cli("responses", "purge", tenant.slug, "--json");
  expect(purged.json).toEqual({ workspace: tenant.slug, deleted: 1 });
});
