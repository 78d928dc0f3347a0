import { CommandRejected, UnsupportedRedis } from "./redis-errors.ts";
import { textReply } from "./redis-replies.ts";

/** `#!lua` scripts and `EVAL` that is refused as a whole when the memory is full. Valkey reports 7.2.4. */
const MAJOR_LEAST = 7;

type CommandSender = { send(command: string[]): Promise<unknown> };

/** Rejects with `UnsupportedRedis` when wallets would be lost, or written to the wrong server. */
export async function checkServer(connection: CommandSender): Promise<void> {
  const sections = await Promise.all(["server", "replication", "memory"].map((name) => infoOf(connection, name)));
  const problem = problemOf(sections.join("\n"));
  if (problem !== undefined) throw problem;
}

/** Without permission for INFO nothing is checked. */
async function infoOf(connection: CommandSender, section: string): Promise<string> {
  try {
    return textReply(await connection.send(["INFO", section]));
  } catch (error) {
    if (error instanceof CommandRejected && /^(?:NOPERM|ERR)/.test(error.message)) return "";
    throw error;
  }
}

export function problemOf(info: string): UnsupportedRedis | undefined {
  const value = (name: string) => new RegExp(`^${name}:(\\S+)`, "m").exec(info)?.[1];
  const version = value("redis_version");
  if (version !== undefined && Number.parseInt(version, 10) < MAJOR_LEAST)
    return new UnsupportedRedis(`it is version ${version}`, "use Redis 7.0 or newer, or Valkey 7.2 or newer");
  const mode = value("redis_mode");
  if (mode === "sentinel")
    return new UnsupportedRedis(
      "it is a Sentinel",
      "use the name of the primary that it monitors, and set REDIS_SENTINELS to this address",
    );
  if (mode === "cluster")
    return new UnsupportedRedis(
      "it is a node of a Redis Cluster",
      "use a Redis without cluster mode, because one server must have all keys",
    );
  if (value("role") === "slave")
    return new UnsupportedRedis("it is a read-only replica", "use the address of its primary");
  const policy = value("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction")
    return new UnsupportedRedis(
      `its maxmemory-policy is ${policy}, which would evict wallets`,
      "set maxmemory-policy noeviction on the server",
    );
  return undefined;
}
