import type { Ddl } from "../engine.ts";

/** Bounds of the one-hour lifetime that the portal gave its keys, by a browser's clock. */
const [SHORTEST_MS, LONGEST_MS] = [50 * 60_000, 70 * 60_000];

/**
 * Keys: the purpose, null for API keys. Earlier versions of the portal created one key per browser tab; these are revoked and
 * marked, and the portal requests a new key.
 */
export function playgroundKeys({ text }: Ddl): string[] {
  return [
    `alter table api_keys add column purpose ${text}`,
    `update api_keys set purpose = 'playground', state = 'revoked', version = version + 1
      where name = 'Playground' and state <> 'revoked' and rotated_from is null and scopes is null and policy is null
        and expires_at_ms - created_at_ms between ${SHORTEST_MS} and ${LONGEST_MS}`,
  ];
}
