import { useCallback, useState } from "react";
import { call } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { useMe } from "../../api/me.ts";
import { usePermissions } from "../../api/powers.ts";

export type Environment = "test" | "live";
type Kept = { readonly key: string; readonly expiresAtMs: number };

const LIFE_MS = 60 * 60_000;
/** A key that ends within this time is not begun with. */
const SPARE_MS = 2 * 60_000;
/** By person: whoever signs in next in this tab makes a key of their own. */
const nameOf = (person: string, workspace: string, environment: Environment) =>
  `playground-key ${person} ${workspace} ${environment}`;

/** A key for the page itself: made when it is first needed, for an hour, kept in this tab and nowhere else. */
export function usePlaygroundKey(workspace: string, environment: Environment) {
  const me = useMe().data ?? null;
  const { role, isAdmin } = usePermissions(workspace);
  const isMember = role !== undefined && !isAdmin;
  const policy = useManage("manageShowKeyPolicy", { params: { workspace } }, { enabled: isMember });
  const [pasted, setPasted] = useState("");
  const refusal = isMember && policy.data !== undefined ? refusalOf(policy.data) : undefined;
  const email = isMember ? me?.email : undefined;
  const name = nameOf(me?.id ?? "", workspace, environment);

  const get = useCallback(async (): Promise<string> => {
    if (pasted !== "") return pasted;
    const kept = readKept(name);
    if (kept !== undefined && kept.expiresAtMs - Date.now() > SPARE_MS) return kept.key;
    const expiresAtMs = Date.now() + LIFE_MS;
    const { key } = await call("manageCreateKey", {
      params: { workspace },
      body: {
        name: "Playground",
        environment,
        expires_at: new Date(expiresAtMs).toISOString(),
        ...(email === undefined ? {} : { member: email }),
      },
    });
    sessionStorage.setItem(name, JSON.stringify({ key, expiresAtMs }));
    return key;
  }, [pasted, workspace, environment, email, name]);

  /** A key that was refused is of no use any more. */
  const forget = useCallback(() => sessionStorage.removeItem(name), [name]);
  return { get, forget, pasted, setPasted, refusal: pasted === "" ? refusal : undefined };
}

/** Why a plain member gets no key here, and what to do. */
function refusalOf({ personal_keys, approval }: { readonly personal_keys: boolean; readonly approval: boolean }) {
  if (!personal_keys)
    return "In this workspace members have no keys of their own, so the playground cannot make one. Ask an admin for a key and paste it here.";
  if (approval)
    return "Here an admin approves every personal key first, so the playground cannot make one for an hour. Paste a key of yours that is approved.";
  return undefined;
}

function readKept(name: string): Kept | undefined {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(name) ?? "null");
    if (typeof kept !== "object" || kept === null) return undefined;
    const [key, expiresAtMs] = [Reflect.get(kept, "key"), Reflect.get(kept, "expiresAtMs")];
    return typeof key === "string" && typeof expiresAtMs === "number" ? { key, expiresAtMs } : undefined;
  } catch {
    return undefined;
  }
}
