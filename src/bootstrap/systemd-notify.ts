import { spawn } from "node:child_process";
import { once } from "node:events";

const ANSWER_MS_MAX = 5_000;

/**
 * Tells systemd that the service is ready or stops (`Type=notify`). Node cannot send datagrams to a socket file, so systemd's own
 * program does: the unit needs `NotifyAccess=all`. Returns why it failed; undefined: sent, or not asked for.
 */
export async function notifySystemd(
  state: "READY=1" | "STOPPING=1",
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  if (env["NOTIFY_SOCKET"] === undefined) return undefined;
  const child = spawn("systemd-notify", [state], { env, stdio: "ignore", timeout: ANSWER_MS_MAX });
  try {
    const [code] = await once(child, "exit");
    return code === 0 ? undefined : `systemd-notify ended with ${code}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
