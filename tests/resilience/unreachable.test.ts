import { expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { openScene } from "../support/scene.ts";
import { startUpstream, unusedPort } from "../support/upstream.ts";

test("ROUTE-04 ERR-07 fails over from closed ports and ports without TLS, as nothing was accepted there", async () => {
  const plain = await startUpstream();
  const scene = await openScene(["scaleway"], {
    PROVIDER_DEEPINFRA_API_KEY: "k",
    PROVIDER_DEEPINFRA_BASE_URL: `http://127.0.0.1:${await unusedPort()}/v1`,
    PROVIDER_OVHCLOUD_API_KEY: "k",
    PROVIDER_OVHCLOUD_BASE_URL: plain.baseUrl.replace("http:", "https:"),
  });
  try {
    const tenant = await scene.gateway.tenant();
    for (const stream of [false, true]) {
      const { status, headers } = await scene.chat(tenant.key, { stream });
      expect([status, headers.get("x-svc-provider")]).toEqual([200, "scaleway"]);
      // An endpoint that was never reached has processed nothing, in no country.
      expect(headers.get("x-svc-compute-countries")).toBe("FR");
    }
    for (const { attempts } of await scene.rows(tenant)) {
      expect(attempts.map(({ provider, outcome }: Json) => [provider, outcome])).toEqual([
        ["deepinfra", "next"],
        ["ovhcloud", "next"],
        ["scaleway", "served"],
      ]);
      for (const { maybe_accepted, upstream_status } of attempts.slice(0, 2))
        expect([maybe_accepted, upstream_status]).toEqual([false, null]);
    }
    expect(plain.requests).toEqual([]);
  } finally {
    await scene.close();
    await plain.close();
  }
});
