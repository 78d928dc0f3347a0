import { Client } from "pg";
import type { DatabaseAddress } from "./address.ts";
import { errorText } from "./errors.ts";
import { connectionConfig } from "./pool.ts";

/** A busy pooler may hand back the same server session by chance; not this often in a row. */
const ROUNDS = 10;

/**
 * Whether a pooler in transaction or statement mode is behind the address: two sessions that are open at the same time share
 * a server process, or one session changes its process. Advisory locks and settings of a session are worthless there.
 */
export async function sharesServerSessions(address: DatabaseAddress): Promise<boolean> {
  const clients = [connect(address), connect(address)];
  try {
    const [first, second] = await Promise.all(clients);
    if (first === undefined || second === undefined) return false;
    const process = await serverProcessOf(first);
    for (let round = 0; round < ROUNDS; round += 1) {
      // An open transaction keeps its server process, so the other session has to get another one.
      await second.query("begin");
      const other = await serverProcessOf(second);
      // With a pool of one, the first session would now wait for the transaction of the other.
      if (other === process) return true;
      const again = await serverProcessOf(first);
      await second.query("commit");
      if (again !== process) return true;
    }
    return false;
  } catch (error) {
    // Statement mode allows no transaction at all.
    if (/statement pooling/.test(errorText(error))) return true;
    throw error;
  } finally {
    const opened = await Promise.allSettled(clients);
    for (const client of opened) if (client.status === "fulfilled") await client.value.end().catch(() => {});
  }
}

async function connect(address: DatabaseAddress): Promise<Client> {
  const client = new Client(connectionConfig(address, "default"));
  client.on("error", () => {});
  await client.connect();
  return client;
}

async function serverProcessOf(client: Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid;
}
