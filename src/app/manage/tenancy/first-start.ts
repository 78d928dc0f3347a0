import type { TenancyDeps } from "../deps.ts";
import { creditWallet } from "../money/wallets.ts";
import { createKey } from "./keys.ts";
import { createWorkspace } from "./workspaces.ts";

/** What simulated answers may cost in all before the demo wallet is empty. */
const DEMO_CREDIT_NANOS = 10_000_000_000n;
const DEMO_SLUG = "demo";

/** Makes the demo workspace with credit and one test key; answers the key, which is shown this once. */
export async function firstStart(deps: TenancyDeps): Promise<string> {
  const workspace =
    deps.directory.workspace(DEMO_SLUG) ??
    (await createWorkspace(deps, { slug: DEMO_SLUG, name: "Demo", currency: "EUR" }));
  await creditWallet(deps, workspace, {
    nanos: DEMO_CREDIT_NANOS,
    note: "sandbox credit of the first start",
    name: "first-start",
  });
  const { secret } = await createKey(deps, workspace, { name: "first key", environment: "test", personal: null });
  return secret;
}
