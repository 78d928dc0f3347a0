import type { Accounts } from "../app/accounts/accounts.ts";
import type { TenancyDeps } from "../app/manage/deps.ts";
import { firstStart } from "../app/manage/tenancy/first-start.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { Store } from "../io/store/sql/store.ts";

const FIRST_START = "first_start";

type First = { readonly store: Store; readonly tenancy: TenancyDeps; readonly fleet: Fleet; readonly people: Accounts };
type FirstWords = { readonly firstKey?: string | undefined; readonly setupLink?: string | undefined };

/** What the first start shows, once. */
export async function firstWords({ store, tenancy, fleet, people }: First): Promise<FirstWords> {
  const firstKey = await fleet.withLock(`workspace:${FIRST_START}`, () => firstKeyOf(store, tenancy));
  return { firstKey, setupLink: await people.setupLink() };
}

async function firstKeyOf(store: Store, tenancy: TenancyDeps): Promise<string | undefined> {
  if ((await store.meta.get(FIRST_START)) !== undefined) return undefined;
  const key = await firstStart(tenancy);
  await store.meta.set(FIRST_START, "done");
  return key;
}
