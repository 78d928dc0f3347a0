import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { callOnce } from "./call.ts";
import { type Bench, bodyFor, type CANDIDATES, type CandidateName, type Peer, type Prepared } from "./candidate.ts";
import { freePort, isRunning } from "./children.ts";
import { prepareEarlier, prepareGateway, prepareShared } from "./gateway.ts";
import { prepareLiteLlm } from "./litellm.ts";
import { nginxCommand, proxyConfig } from "./nginx.ts";
import { DUMMY_KEY, peerName, preparePeer } from "./peer.ts";

const MODEL = "bench-model";

type BuiltIn = (typeof CANDIDATES)[number] | "earlier";

const PREPARE: Readonly<Record<BuiltIn, (bench: Bench) => Promise<Prepared>>> = {
  direct: prepareDirect,
  nginx: prepareNginx,
  bare: prepareBare,
  gateway: prepareGateway,
  earlier: prepareEarlier,
  shared: prepareShared,
  portkey: preparePortkey,
  litellm: prepareLiteLlm,
};

export function prepareCandidate(bench: Bench, name: CandidateName, peers: readonly Peer[]): Promise<Prepared> {
  if (isBuiltIn(name)) return PREPARE[name](bench);
  const peer = peers.find((one) => peerName(one) === name);
  if (peer === undefined) throw new Error(`there is no candidate "${name}"`);
  return preparePeer(bench, peer);
}

function isBuiltIn(name: CandidateName): name is BuiltIn {
  return Object.hasOwn(PREPARE, name);
}

async function prepareDirect({ upstream }: Bench): Promise<Prepared> {
  return {
    title: "direct",
    version: "no proxy",
    target: (shape) => ({
      url: `http://127.0.0.1:${shape.is === "json" ? upstream.json : upstream.stream}/v1/chat/completions`,
      headers: { authorization: `Bearer ${DUMMY_KEY}` },
      body: bodyFor(MODEL, shape),
    }),
  };
}

async function prepareNginx({ children, folder, upstream }: Bench): Promise<Prepared> {
  const port = await freePort();
  const own = path.join(folder, "nginx-proxy");
  const command = nginxCommand(own, proxyConfig(own, port, upstream));
  return {
    title: "nginx as proxy",
    version: "Debian's, one worker, keep-alive upstream, buffering off",
    launch: () => children.start(command, { core: "candidate", logFile: path.join(folder, "nginx-proxy.log") }),
    target: (shape) => ({
      url: `http://127.0.0.1:${port}/${shape.is}/v1/chat/completions`,
      headers: { authorization: `Bearer ${DUMMY_KEY}` },
      body: bodyFor(MODEL, shape),
    }),
  };
}

async function prepareBare({ children, node, root, folder, upstream }: Bench): Promise<Prepared> {
  const port = await freePort();
  const origins = [upstream.json, upstream.stream].map((to) => `http://127.0.0.1:${to}`);
  const command = [node, path.join(root, "bench/bare-proxy.ts"), String(port), ...origins];
  return {
    title: "bare proxy",
    version: "node:http and undici dispatch; parse, hash, six headers",
    launch: () => children.start(command, { core: "candidate", logFile: path.join(folder, "bare.log") }),
    target: (shape) => ({
      url: `http://127.0.0.1:${port}/v1/chat/completions`,
      headers: { authorization: `Bearer ${DUMMY_KEY}` },
      body: bodyFor(MODEL, shape),
    }),
  };
}

const versionSchema = z.object({ version: z.string() });

async function preparePortkey({ children, node, root, folder, upstream }: Bench): Promise<Prepared> {
  const port = await freePort();
  const modules = path.join(root, "bench/.work/portkey/node_modules");
  const entry = path.join(modules, "@portkey-ai/gateway/build/start-server.js");
  if (!existsSync(entry)) throw new Error("it is not installed (the install needs the network)");
  const manifest: unknown = JSON.parse(readFileSync(path.join(modules, "@portkey-ai/gateway/package.json"), "utf8"));
  return {
    title: "Portkey",
    version: `@portkey-ai/gateway ${versionSchema.parse(manifest).version}, no key check, no wallet, no log`,
    launch: () =>
      children.start([node, entry, `--port=${port}`, "--headless"], {
        core: "candidate",
        env: { NODE_ENV: "production" },
        logFile: path.join(folder, "portkey.log"),
      }),
    target: (shape) => ({
      url: `http://127.0.0.1:${port}/v1/chat/completions`,
      headers: {
        authorization: `Bearer ${DUMMY_KEY}`,
        "x-portkey-provider": "openai",
        "x-portkey-custom-host": `http://127.0.0.1:${shape.is === "json" ? upstream.json : upstream.stream}/v1`,
      },
      body: bodyFor(MODEL, shape),
    }),
  };
}

const START_MS_MAX = 60_000;
const POLL_MS = 5;

/** From the start of the process to the first call it serves. */
export async function startUntilServed(
  prepared: Prepared,
  launch: () => ChildProcess,
): Promise<{ readonly child: ChildProcess; readonly startMs: number }> {
  const startedAtMs = performance.now();
  const child = launch();
  while (performance.now() - startedAtMs < START_MS_MAX) {
    if (!isRunning(child)) throw new Error(`it ended with ${child.exitCode ?? child.signalCode} while starting`);
    const answer = await callOnce(prepared.target({ is: "json" })).catch(() => undefined);
    if (answer?.status === 200) return { child, startMs: performance.now() - startedAtMs };
    await sleep(POLL_MS);
  }
  throw new Error("it did not serve a request within a minute");
}
