import { expect, test } from "vitest";
import type { ApiKey } from "../../src/domain/tenancy/key.ts";
import type { Router } from "../../src/domain/tenancy/router.ts";
import type { Workspace } from "../../src/domain/tenancy/workspace.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import type { JsonObject } from "../../src/kit/json.ts";
import { OPEN_ROUTER } from "./routing.ts";

/** What every engine does with policies: also with rules of data classes that another version of the gateway wrote. */
export function policyTests(
  current: () => Store,
  reopen: () => Promise<Store>,
  { workspace, key }: { readonly workspace: Workspace; readonly key: ApiKey },
): void {
  test("POL-01 the policy of a key is returned as saved, with only the rules it names", async () => {
    const { tenancy } = current();
    await tenancy.saveWorkspace(workspace);
    const strict: ApiKey = { ...key, policy: { floor: "L3", countries: ["DE"], noTraining: true } };
    await tenancy.saveKeys([strict]);
    expect((await (await reopen()).tenancy.loadAll()).keys).toEqual([strict]);
  });

  test("CLASS-02 rules that this version cannot read come back as blocks, and are stored again unchanged", async () => {
    const { tenancy } = current();
    const unread = (stored: JsonObject) => ({ action: "block", unread: stored }) as const;
    const known = { action: "redact", below: "L3" } as const;
    const dataClasses = {
      personal: unread({ action: "translate", below: "L3", into: ["de"] }),
      secret: known,
      "acme-projects": unread({ terms: 7 }),
    };
    const saved = { ...workspace, policy: { ...workspace.policy, dataClasses } };
    const strict: ApiKey = { ...key, policy: { dataClasses } };
    const router: Router = {
      workspaceId: "ws_1",
      slug: "fast",
      version: 1,
      createdAtMs: 7,
      spec: { ...OPEN_ROUTER, dataClasses },
    };
    await tenancy.saveWorkspace(saved);
    await tenancy.saveKeys([strict]);
    await tenancy.saveRouterVersion(router);
    for (const keyId of [null, key.id])
      await tenancy.savePolicyVersion({ workspaceId: "ws_1", keyId, createdAtMs: 9, policy: { dataClasses } });
    // Twice: what was read is written again, as when another rule changes.
    for (const version of [1, 2]) {
      if (version === 1) await reopen();
      const { tenancy: later } = current();
      const loaded = await later.loadAll();
      expect([loaded.workspaces, loaded.keys, loaded.routers]).toEqual([[saved], [strict], [{ ...router, version }]]);
      const history = await later.policyHistory("ws_1");
      expect(history.map(({ policy }) => policy)).toEqual([{ dataClasses }, { dataClasses }]);
      const [again] = loaded.workspaces;
      const [sameKey] = loaded.keys;
      const [spec] = loaded.routers;
      if (again === undefined || sameKey === undefined || spec === undefined) throw new Error("something is missing");
      await later.saveWorkspace(again);
      await later.saveKeys([sameKey]);
      if (version === 1) await later.saveRouterVersion({ ...spec, version: 2 });
      for (const { keyId, policy } of history)
        await later.savePolicyVersion({ workspaceId: "ws_1", keyId, createdAtMs: 10, policy });
    }
  });
}
