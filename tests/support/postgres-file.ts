import { afterAll, beforeAll } from "vitest";
import { tempFolder } from "./journal-fixture.ts";
import { type Cluster, hasPostgres, startCluster } from "./postgres.ts";

type ForFile = Omit<Cluster, "close"> & {
  /** A new folder, removed with the cluster. */
  folder(): string;
};

/** A cluster for the tests of one file. */
export function clusterForFile(): ForFile {
  let cluster: Cluster | undefined;
  const folders: ReturnType<typeof tempFolder>[] = [];
  beforeAll(async () => {
    if (hasPostgres) cluster = await startCluster();
  }, 60_000);
  afterAll(async () => {
    await cluster?.close();
    for (const folder of folders) folder.remove();
  });
  const running = () => {
    if (cluster === undefined) throw new Error("there is no cluster outside of the tests");
    return cluster;
  };
  return {
    get data() {
      return running().data;
    },
    database: (content) => running().database(content),
    asApp: (address) => running().asApp(address),
    empty: (address) => running().empty(address),
    query: (address, statement) => running().query(address, statement),
    stop: (how) => running().stop(how),
    start: () => running().start(),
    folder() {
      const folder = tempFolder("gateway-store-");
      folders.push(folder);
      return folder.path;
    },
  };
}
