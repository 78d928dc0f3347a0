import { useCallback, useRef, useState } from "react";
import { call } from "../../api/client.ts";

export type Environment = "test" | "live";
type IssuedKey = { readonly workspace: string; readonly environment: Environment; readonly key: string };

/** A key that expires within this time is requested again. */
const EXPIRY_MARGIN_MS = 2 * 60_000;

/**
 * The person's playground key: the gateway issues the same one to every tab, for members too. It is kept in memory only and
 * requested again before it expires.
 */
export function usePlaygroundKey(workspace: string, environment: Environment) {
  const [pasted, setPasted] = useState("");
  const issued = useRef<(IssuedKey & { readonly expiresAtMs: number }) | null>(null);
  /** Columns that start together share one call. */
  const pending = useRef<{ readonly of: string; readonly key: Promise<string> } | null>(null);

  const get = useCallback(async (): Promise<string> => {
    if (pasted !== "") return pasted;
    const known = issued.current;
    const isCurrent = known?.workspace === workspace && known.environment === environment;
    if (isCurrent && known.expiresAtMs - Date.now() > EXPIRY_MARGIN_MS) return known.key;
    const of = `${workspace} ${environment}`;
    if (pending.current?.of === of) return pending.current.key;
    const issue = async () => {
      const { key, expires_at } = await call("manageIssuePlaygroundKey", {
        params: { workspace },
        body: { environment },
      });
      issued.current = { workspace, environment, key, expiresAtMs: Date.parse(expires_at ?? "") };
      return key;
    };
    const key = issue().finally(() => {
      pending.current = null;
    });
    pending.current = { of, key };
    return key;
  }, [pasted, workspace, environment]);

  /** Discards a rejected key. */
  const discard = useCallback(() => {
    issued.current = null;
  }, []);
  return { get, discard, pasted, setPasted };
}
