import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADVISORY_LOCKS } from "../../src/io/store/sql/postgres/instance-lock.ts";
import { cleanUp, spawnGateway } from "../edge/child.ts";
import { eventually } from "../support/eventually.ts";
import { hasPostgres } from "../support/postgres.ts";
import { clusterForFile } from "../support/postgres-file.ts";
import { gate } from "../support/response-callers.ts";
import { connectedTo } from "../support/scene.ts";
import { chatJson, startUpstream, type Upstream } from "../support/upstream.ts";
import { chat, startWorkerGateway, type WorkerGateway, waitForLog } from "./scene.ts";

const SECRETS = {
  GATEWAY_ADMIN_TOKEN: "operator-of-the-tests-1f3870be274f6c49b3e31a0c6728957f",
  GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
};
const CALLS = 6;
const LOCK = `locktype = 'advisory' and granted and objid = ${ADVISORY_LOCKS.instance}
  and database = (select oid from pg_database where datname = current_database())`;

describe.skipIf(!hasPostgres)("workers on a PostgreSQL database", () => {
  const postgres = clusterForFile();
  let address: Awaited<ReturnType<typeof postgres.database>>;
  let upstream: Upstream;
  let served: WorkerGateway;
  let key: string;
  beforeAll(async () => {
    address = await postgres.database("migrated");
    upstream = await startUpstream();
    upstream.always({ json: chatJson() });
    served = await startWorkerGateway(2, upstream, { ...SECRETS, DATABASE_URL: address.url });
    ({ key } = await served.tenant("locked", "10"));
  }, 90_000);
  afterAll(async () => {
    await cleanUp();
    await upstream.close();
  });

  const cutLock = () => postgres.query(address, `select pg_terminate_backend(pid) from pg_locks where ${LOCK}`);
  const written = async () => {
    const [counts] = await postgres.query(
      address,
      `select (select count(*) from requests)::int as requests,
        (select count(*) from ledger_transactions where kind = 'charge')::int as charges,
        (select balance_nanos from wallets where balance_nanos < 10000000000)::text as balance`,
    );
    return counts;
  };
  const calls = () => Promise.all(Array.from({ length: CALLS }, () => chat(served.origin, key)));
  const statuses = (answers: readonly { status: number }[]) => answers.map(({ status }) => status);
  const allOk = Array.from({ length: CALLS }, () => 200);

  test("SCALE-21 workers write again once their primary has its lost lock back", async () => {
    await calls();
    await eventually(async () => expect(await written()).toMatchObject({ requests: CALLS, charges: CALLS }));
    await cutLock();
    await waitForLog(served.gateway, "instance-lock: connection lost, lock released");
    expect(statuses(await calls())).toEqual(allOk);
    await waitForLog(served.gateway, "instance-lock: reacquired");
    const all = { requests: 2 * CALLS, charges: 2 * CALLS };
    await eventually(async () => expect(await written()).toMatchObject(all), { timeout: 20_000 });
  });

  test("SCALE-21 once another gateway has the lock no worker writes, and the next start books what they served", async () => {
    const other = new Client({ connectionString: address.url });
    await other.connect();
    const taking = other.query(`select pg_advisory_lock(${ADVISORY_LOCKS.ours}, ${ADVISORY_LOCKS.instance})`);
    const { closed, open } = gate();
    const before = await written();
    const received = upstream.requests.length;
    for (let call = 0; call < CALLS; call += 1) upstream.next({ json: chatJson(), gate: closed });
    const answers = calls();
    await upstream.arrived(received + CALLS);
    await cutLock();
    await taking;
    await waitForLog(served.gateway, "instance-lock: database is in use by another gateway");
    open();
    expect(statuses(await answers)).toEqual(allOk);
    expect(await served.gateway.exited).toBe(1);
    expect(await written()).toEqual(before);
    await other.end();
    const next = spawnGateway({
      ...connectedTo(new Map([["deepinfra", upstream]])),
      ...{ ...SECRETS, DATABASE_URL: address.url, DATA_DIR: served.gateway.dataDir, GATEWAY_SANDBOX: "off" },
    });
    await next.ready();
    expect(await written()).toMatchObject({ requests: 3 * CALLS, charges: 3 * CALLS });
    await next.stop();
  });
});
