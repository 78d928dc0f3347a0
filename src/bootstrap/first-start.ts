import type { Accounts } from "../app/accounts/accounts.ts";
import type { TenancyDeps } from "../app/manage/deps.ts";
import { firstStart } from "../app/manage/tenancy/first-start.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { Store } from "../io/store/sql/store.ts";

/** Key of the store's metadata, and name of the lock. */
const FIRST_START = "first_start";

type FirstStartDeps = {
  readonly store: Store;
  readonly tenancy: TenancyDeps;
  readonly fleet: Fleet;
  readonly accounts: Accounts;
};

export type FirstStartResult = {
  /** Key of the demo workspace, only at the very first start. */
  readonly firstKey?: string | undefined;
  /** While the gateway has no operator account. */
  readonly setupLink?: string | undefined;
};

/** Creates the demo workspace at the very first start of a deployment. */
export async function runFirstStart({ store, tenancy, fleet, accounts }: FirstStartDeps): Promise<FirstStartResult> {
  const firstKey = await fleet.withLock(`workspace:${FIRST_START}`, async () => {
    if ((await store.meta.get(FIRST_START)) !== undefined) return undefined;
    const key = await firstStart(tenancy);
    await store.meta.set(FIRST_START, "done");
    return key;
  });
  return { firstKey, setupLink: await accounts.setupLink() };
}
