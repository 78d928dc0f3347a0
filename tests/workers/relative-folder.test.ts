import { existsSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { cleanUp, temporaryFolder } from "../edge/child.ts";
import { spawnCli } from "../support/gateway.ts";
import { startUpstream } from "../support/upstream.ts";
import { startWorkerGateway } from "./scene.ts";

afterAll(cleanUp);

test("OPS-01 OPS-04 a relative DATA_DIR is below the project root for gateway, workers and commands, from any folder", async () => {
  const folder = temporaryFolder();
  const env = { DATA_DIR: path.relative(PROJECT_ROOT, folder) };
  const upstream = await startUpstream();
  const { origin } = await startWorkerGateway(2, upstream, env);
  const parts = ["admin-token", "gateway.sqlite", "workers/1/journal", "workers/2/journal"];
  expect(parts.filter((name) => !existsSync(path.join(folder, name)))).toEqual([]);
  const listed = await spawnCli(["workspace", "list", "--json"], { ...env, GATEWAY_URL: origin });
  expect(listed).toMatchObject({ code: 0, json: { data: [{ slug: "demo" }] } });
  await upstream.close();
}, 180_000);
