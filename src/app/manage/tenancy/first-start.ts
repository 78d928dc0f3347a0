import { OPERATOR_ACTOR } from "../caller-scope.ts";
import type { TenancyDeps } from "../deps.ts";
import { creditWallet } from "../money/wallets.ts";
import { createKey } from "./keys.ts";
import { createWorkspace } from "./workspaces.ts";

/** Credit for simulated responses in the demo workspace. */
const DEMO_CREDIT_NANOS = 10_000_000_000n;
const DEMO_SLUG = "demo";

/** Creates the demo workspace with credit and a test key; returns the key, which is shown only once. */
export async function firstStart(tenancy: TenancyDeps): Promise<string> {
  const deps = { ...tenancy, auditActor: OPERATOR_ACTOR };
  const workspace =
    deps.directory.workspace(DEMO_SLUG) ??
    (await createWorkspace(deps, { slug: DEMO_SLUG, name: "Demo", currency: "EUR" }));
  await creditWallet(deps, workspace, {
    nanos: DEMO_CREDIT_NANOS,
    note: "initial sandbox credit",
    name: "first-start",
  });
  const { secret } = await createKey(deps, workspace, { name: "first key", environment: "test", personal: null });
  return secret;
}
