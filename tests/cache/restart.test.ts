import { afterAll, expect, test } from "vitest";
import { cleanUp, temporaryFolder } from "../edge/child.ts";
import { startGateway } from "../support/gateway.ts";
import { layTables } from "../support/tables.ts";

afterAll(cleanUp);

const BODY = {
  model: "sandbox/chat",
  messages: [{ role: "user", content: "Do you remember me?" }],
  cache: { ttl: 600 },
};

test("CACHE-01 a reply is still served after a restart, unsealed from the store", async () => {
  const dataDir = temporaryFolder();
  await layTables(dataDir);
  const before = await startGateway({ dataDir });
  const tenant = await before.tenant();
  const first = await before.call(tenant.key, "/v1/chat/completions", { body: BODY });
  await before.close();
  const after = await startGateway({ dataDir });
  const second = await after.call(tenant.key, "/v1/chat/completions", { body: BODY });
  await after.close();
  expect([first.headers.get("x-svc-cache"), second.headers.get("x-svc-cache")?.slice(0, 3)]).toEqual(["miss", "hit"]);
  expect(second.body.choices).toEqual(first.body.choices);
});
