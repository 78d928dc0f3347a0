import { fault } from "../../../contract/faults.ts";
import { pluralize } from "../../../kit/pluralize.ts";
import { buffered, type Handler } from "../../exchange.ts";
import type { Check, CheckResult } from "../deps.ts";
import { isoTime } from "../views.ts";
import type { MasterKeyDeps, MasterKeyRotation, MasterKeyUsage } from "./master-key-rotation.ts";

/** How long a request waits for the rotation, which continues in the background. */
const WAIT_MS = 20_000;

const total = (keys: readonly MasterKeyUsage[]) => keys.reduce((sum, { dataKeys }) => sum + dataKeys, 0);

async function statusView(rotation: MasterKeyRotation) {
  const keys = await rotation.usage();
  const { state, rewrapped, startedAtMs, endedAtMs, problem } = rotation.state;
  return {
    source: rotation.source,
    state,
    rewrapped,
    remaining: total(keys.filter(({ role }) => role !== "current")),
    started_at: startedAtMs === null ? null : isoTime(startedAtMs),
    ended_at: endedAtMs === null ? null : isoTime(endedAtMs),
    problem,
    keys: keys.map(({ id, role, dataKeys }) => ({ id, role, data_keys: dataKeys })),
  };
}

export function masterKeyCheck(rotation: MasterKeyRotation): Check {
  return {
    name: "master key",
    run: async () => adviceOn(await rotation.usage(), rotation),
  };
}

function adviceOn(keys: readonly MasterKeyUsage[], { state: { state, problem } }: MasterKeyRotation): CheckResult {
  const names = (found: readonly MasterKeyUsage[]) => found.map(({ id, dataKeys }) => `${id} (${dataKeys})`).join(", ");
  const missing = keys.filter(({ role }) => role === "missing");
  if (missing.length > 0)
    return {
      ok: false,
      detail: `data keys are wrapped by master keys that this gateway does not have: ${names(missing)}. Set GATEWAY_MASTER_KEY to the newest one, or add them to GATEWAY_MASTER_KEY_PREVIOUS.`,
    };
  if (state === "failed")
    return { ok: false, detail: `not all data keys are wrapped by the current master key: ${problem}` };
  const needed = keys.filter(({ role, dataKeys }) => role !== "current" && dataKeys > 0);
  if (needed.length > 0)
    return {
      ok: true,
      warning: state !== "running",
      detail:
        state === "running"
          ? `data keys are being rewrapped by the current master key; still needed: ${names(needed)}`
          : `still needed for data keys: ${names(needed)}. Run gateway master-key rotate to rewrap them by the current one.`,
    };
  const current = `${pluralize(total(keys), "data key")}, all wrapped by ${keys[0]?.id}`;
  const idle = keys.filter(({ role }) => role === "previous").map(({ id }) => id);
  if (idle.length === 0) return { ok: true, detail: current };
  return {
    ok: true,
    detail: `${current}. Once every instance has it as GATEWAY_MASTER_KEY, ${idle.join(", ")} can be removed from GATEWAY_MASTER_KEY_PREVIOUS.`,
  };
}

export function masterKeyHandlers({ rotation, timers }: MasterKeyDeps): Record<string, Handler> {
  return {
    manageMasterKey: buffered(async () => ({ status: 200, json: await statusView(rotation) })),
    manageRotateMasterKey: buffered(async () => {
      const keys = await rotation.usage();
      if (rotation.source === "setting" && keys.every(({ role }) => role === "current"))
        throw fault("conflict", {
          message:
            "The master key is a setting, and all data keys are wrapped by it. To change it, restart with a new GATEWAY_MASTER_KEY and the current one in GATEWAY_MASTER_KEY_PREVIOUS.",
        });
      const { promise: late, resolve } = Promise.withResolvers<void>();
      using _timer = timers.after(WAIT_MS, resolve);
      await Promise.race([rotation.rotate(), late]);
      return { status: 200, json: await statusView(rotation) };
    }),
  };
}
