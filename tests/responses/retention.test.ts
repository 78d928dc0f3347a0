import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { cleanUp, spawnGateway, temporaryFolder } from "../edge/child.ts";
import type { Json } from "../support/gateway.ts";
import { callerWith, replyingWith } from "../support/response-callers.ts";
import { openScene } from "../support/scene.ts";

afterAll(cleanUp);

test.concurrent("RESP-05 expired responses are unavailable at once, before any sweep", async () => {
  const scene = await openScene(["ionos"], { GATEWAY_RESPONSES_RETENTION: "5s" });
  try {
    scene.at("ionos").always(replyingWith("translated", ["Hello"]));
    const tenant = await scene.gateway.tenant();
    const caller = callerWith(scene.gateway, tenant.key);
    const { id } = (await caller.post()).body;
    expect((await caller.get(id)).status).toBe(200);
    const [row] = (await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/responses`)).data;
    expect(Date.parse(row.expires_at) - Date.parse(row.created_at)).toBe(5000);
    await sleep(Date.parse(row.expires_at) - Date.now() + 10);
    expect((await caller.get(id)).status).toBe(404);
    expect((await caller.inputItems(id)).status).toBe(404);
    expect((await caller.remove(id)).status).toBe(404);
    expect((await caller.post({ previous_response_id: id })).body.error.code).toBe("previous_response_not_found");
    expect((await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/responses`)).data).toEqual([]);
  } finally {
    await scene.close();
  }
});

test.concurrent("RESP-05 an invalid retention stops the start and is named", async () => {
  const gateway = spawnGateway({ GATEWAY_RESPONSES_RETENTION: "soon" });
  expect(await gateway.exited).toBe(1);
  expect(gateway.stderr()).toContain("GATEWAY_RESPONSES_RETENTION");
});

test.concurrent("RESP-05 a gateway with another master key does not start on data it cannot decrypt, and names the remedy", async () => {
  const dataDir = temporaryFolder();
  const first = spawnGateway({ DATA_DIR: dataDir });
  const origin = await first.ready();
  const key = /^Key {6}(\S+)$/m.exec(first.stdout())?.[1];
  const made = await fetch(`${origin}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sandbox/chat", input: "Hi" }),
  });
  expect(made.status).toBe(200);
  const { id }: Json = await made.json();
  expect(await first.stop()).toBe(0);
  const wrong = spawnGateway({ DATA_DIR: dataDir, GATEWAY_MASTER_KEY: "0".repeat(64) });
  expect(await wrong.exited).toBe(1);
  expect(wrong.stderr()).toContain("Set GATEWAY_MASTER_KEY");
  const again = spawnGateway({ DATA_DIR: dataDir });
  const found = await fetch(`${await again.ready()}/v1/responses/${id}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(found.status).toBe(200);
  expect(await again.stop()).toBe(0);
});
