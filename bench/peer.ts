import path from "node:path";
import { type Bench, bodyFor, type CandidateName, type Peer, type Prepared, type Shape } from "./candidate.ts";
import { freePort } from "./children.ts";
import type { Target } from "./load.ts";

/** What a peer's command receives: the port to listen on, and the base URLs of the two upstreams. */
export type Places = { readonly port: number; readonly json: string; readonly stream: string };

/** A peer chooses the upstream by the model of a request. */
export const PEER_MODELS = { json: "bench-json", stream: "bench-stream" } as const;
export const DUMMY_KEY = "sk-bench-0123456789abcdef0123456789abcdef";
const NAME = /^[a-z0-9][a-z0-9.-]{0,30}$/i;

/** `name=command`; `taken` are the names of the other candidates. */
export function parsePeer(text: string, taken: readonly string[]): Peer {
  const at = text.indexOf("=");
  const [name, command] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1).trim()];
  if (!NAME.test(name) || command === "") throw new Error(`--peer takes name=command, and not "${text}"`);
  if (taken.includes(name)) throw new Error(`there is a candidate "${name}" already; give the peer another name`);
  if (!command.includes("{port}")) throw new Error(`the command of the peer "${name}" needs {port}, where it listens`);
  if (!/\{json\}|\{stream\}/.test(command))
    throw new Error(`the command of the peer "${name}" needs {json} and {stream}, the base URLs of its upstreams`);
  return { name, command };
}

export function peerName({ name }: Peer): CandidateName {
  return `peer:${name}`;
}

export function commandFor({ command }: Peer, places: Places): string {
  return command.replaceAll(/\{(port|json|stream)\}/g, (_, place: keyof Places) => String(places[place]));
}

export function upstreamUrls({ json, stream }: Bench["upstream"]): Pick<Places, "json" | "stream"> {
  return { json: `http://127.0.0.1:${json}/v1`, stream: `http://127.0.0.1:${stream}/v1` };
}

/** Any gateway that speaks OpenAI's format. The program replaces the shell, so that stopping it stops the peer. */
export async function preparePeer({ children, folder, upstream }: Bench, peer: Peer): Promise<Prepared> {
  const port = await freePort();
  const command = commandFor(peer, { port, ...upstreamUrls(upstream) });
  return {
    title: peer.name,
    version: `as started by \`${peer.command}\``,
    reframes: true,
    launch: () =>
      children.start(["/bin/sh", "-c", `exec env ${command}`], {
        core: "candidate",
        logFile: path.join(folder, `peer-${peer.name}.log`),
      }),
    target: peerTarget(port, DUMMY_KEY),
  };
}

export function peerTarget(port: number, key: string): (shape: Shape) => Target {
  return (shape) => ({
    url: `http://127.0.0.1:${port}/v1/chat/completions`,
    headers: { authorization: `Bearer ${key}` },
    body: bodyFor(PEER_MODELS[shape.is], shape),
  });
}
