import { afterAll, beforeAll, expect, test } from "vitest";
import { OWN, type OwnKeyScene, openOwnKeyScene, STREAM } from "../support/own-keys.ts";
import { chunksOf } from "../support/scene.ts";
import { sse } from "../support/upstream.ts";

let scene: OwnKeyScene;
beforeAll(async () => {
  scene = await openOwnKeyScene();
});
afterAll(() => scene.close());

const error = (key: string) => ({
  message: `The account of ${key} is closed`,
  type: "account",
  code: "account_closed",
});

test.each([401, 402, 403, 404])(
  "ERR-14 BILL-08 status %i of an own key reaches its workspace without the key, before output and in a stream",
  async (status) => {
    const tenant = await scene.tenant();
    const key = OWN(`closed-${status}`);
    await scene.put(tenant, "deepinfra", { key, use: "only", skip_test: true });
    const expected = {
      provider: "deepinfra",
      type: "account",
      code: "account_closed",
      param: null,
      message: "The account of [redacted] is closed",
    };
    scene.deepinfra.next({ status, json: { error: error(key) } });
    const refused = await scene.chat(tenant);
    expect([refused.status, refused.body.error.code]).toEqual([502, "upstream_error"]);
    expect(refused.body.error.upstream).toEqual({ ...expected, status });

    const frames = [...STREAM.slice(0, 2), sse({ error: { ...error(key), status_code: status } })];
    scene.deepinfra.next({ frames });
    const broken = await scene.chat(tenant, { stream: true });
    const last = chunksOf(broken.text).at(-1);
    expect([broken.status, last.error.code]).toEqual([200, "upstream_error"]);
    expect(last.error.upstream).toEqual({ ...expected, status });
    expect(`${refused.text}${broken.text}`).not.toContain(key);
  },
);

test("ERR-14 the platform's failure after an own key's stays hidden", async () => {
  const tenant = await scene.tenant();
  const key = OWN("first");
  await scene.put(tenant, "deepinfra", { key, use: "first", skip_test: true });
  scene.deepinfra.next({ status: 401, json: { error: error(key) } });
  scene.nebius.next({ status: 402, json: { error: { message: "The platform owes 4711", code: "unpaid" } } });
  const { status, body, text } = await scene.chat(tenant);
  expect([status, body.error.upstream]).toEqual([502, undefined]);
  expect(text).not.toContain("4711");
});
