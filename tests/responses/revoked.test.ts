import { expect, test } from "vitest";
import { callerWith, gate, replyingWith } from "../support/response-callers.ts";
import { openScene } from "../support/scene.ts";

test("KEY-04 RESP-04 a revoked key ends its background run at the next attempt: no other provider is called", async () => {
  const scene = await openScene(["ovhcloud", "ionos"]);
  try {
    for (const provider of ["ovhcloud", "ionos"] as const)
      scene.at(provider).always(replyingWith(provider === "ionos" ? "translated" : "native", ["Hello"]));
    const tenant = await scene.gateway.tenant();
    const held = gate();
    scene.at("ovhcloud").next({ status: 503, json: {}, gate: held.closed });
    const made = await callerWith(scene.gateway, tenant.key).post({ background: true });
    expect(made.status, made.text).toBe(200);
    await scene.at("ovhcloud").arrived(1);
    const other = await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/keys`, { name: "other" });
    await scene.gateway.manage("POST", `/keys/${tenant.keyId}/revoke`);
    held.open();
    const ended = await callerWith(scene.gateway, other.key).once(made.body.id, "failed", "completed");
    expect(ended).toMatchObject({ status: "failed", error: { code: "invalid_api_key" }, output: [] });
    expect(scene.at("ionos").requests).toHaveLength(0);
    expect(await scene.charges(tenant)).toEqual([]);
    expect((await scene.wallet(tenant)).held).toBe("0.00");
  } finally {
    await scene.close();
  }
});
