import { openReconnectingClient, type ReconnectingClient } from "./reconnecting-client.ts";
import type { RedisSettings } from "./redis-state.ts";
import { openSentinelClient } from "./sentinel-client.ts";

/** A client of one address, or of the primary that Sentinels name. */
export function openClient(
  { sentinels = [], ...deps }: Pick<RedisSettings, "url" | "sentinels" | "ca" | "timers" | "log">,
  onChange: (state: "connected" | "disconnected") => void,
): Promise<ReconnectingClient> {
  return sentinels.length === 0
    ? openReconnectingClient(deps, onChange)
    : openSentinelClient({ ...deps, sentinels }, onChange);
}
