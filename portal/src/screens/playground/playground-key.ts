import { useCallback, useState } from "react";
import { call } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { useMe } from "../../api/me.ts";
import { usePermissions } from "../../api/permissions.ts";

export type Environment = "test" | "live";
type StoredKey = { readonly key: string; readonly expiresAtMs: number };

const LIFETIME_MS = 60 * 60_000;
/** A key that expires within this time is not reused. */
const EXPIRY_MARGIN_MS = 2 * 60_000;
/** Per person: another person in the same tab gets their own key. */
const storageKeyOf = (person: string, workspace: string, environment: Environment) =>
  `playground-key ${person} ${workspace} ${environment}`;

/** The playground's own key: created on first use, valid for an hour, stored in the tab's session only. */
export function usePlaygroundKey(workspace: string, environment: Environment) {
  const me = useMe().data ?? null;
  const { role, isAdmin } = usePermissions(workspace);
  const isMember = role !== undefined && !isAdmin;
  const policy = useManage("manageShowKeyPolicy", { params: { workspace } }, { enabled: isMember });
  const [pasted, setPasted] = useState("");
  const refusal = isMember && policy.data !== undefined ? refusalOf(policy.data) : undefined;
  const email = isMember ? me?.email : undefined;
  const name = storageKeyOf(me?.id ?? "", workspace, environment);

  const get = useCallback(async (): Promise<string> => {
    if (pasted !== "") return pasted;
    const stored = readStoredKey(name);
    if (stored !== undefined && stored.expiresAtMs - Date.now() > EXPIRY_MARGIN_MS) return stored.key;
    const expiresAtMs = Date.now() + LIFETIME_MS;
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

  /** Discards a rejected key. */
  const discard = useCallback(() => sessionStorage.removeItem(name), [name]);
  return { get, discard, pasted, setPasted, refusal: pasted === "" ? refusal : undefined };
}

/** Why a member can't get a playground key. */
function refusalOf({ personal_keys, approval }: { readonly personal_keys: boolean; readonly approval: boolean }) {
  if (!personal_keys)
    return "Personal keys are off in this workspace, so the playground can't create a key. Ask an admin for a key and enter it here.";
  if (approval)
    return "Personal keys need approval in this workspace, so the playground can't create a temporary key. Enter an approved key.";
  return undefined;
}

function readStoredKey(name: string): StoredKey | undefined {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(name) ?? "null");
    if (typeof stored !== "object" || stored === null) return undefined;
    const [key, expiresAtMs] = [Reflect.get(stored, "key"), Reflect.get(stored, "expiresAtMs")];
    return typeof key === "string" && typeof expiresAtMs === "number" ? { key, expiresAtMs } : undefined;
  } catch {
    return undefined;
  }
}
