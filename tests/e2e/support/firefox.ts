import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { BidiConnection } from "./bidi.ts";
import { FirefoxPage } from "./firefox-page.ts";

/** Debian's Firefox. Nothing is downloaded. */
const FIREFOX = "/usr/bin/firefox-esr";

export const hasFirefox = existsSync(FIREFOX);
if (!hasFirefox) process.stderr.write("skipped: firefox-esr is not installed, the portal is not tested in Firefox\n");

/** A proxy that nothing listens on keeps the browser's own traffic on this machine; pages are on loopback. */
const PREFERENCES = {
  "network.proxy.type": 1,
  "network.proxy.http": "127.0.0.1",
  "network.proxy.http_port": 9,
  "network.proxy.ssl": "127.0.0.1",
  "network.proxy.ssl_port": 9,
  "network.proxy.no_proxies_on": "localhost, 127.0.0.1",
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.homepage_override.mstone": "ignore",
  "ui.prefersReducedMotion": 1,
  "intl.accept_languages": "en-GB",
};
const VIEWPORT = { width: 1280, height: 800 };

export type Firefox = {
  readonly page: FirefoxPage;
  /** Exceptions, console errors and requests to other origins. */
  readonly problems: readonly string[];
  close(): Promise<void>;
};

/** Starts Firefox with a new profile and one page; WebDriver BiDi is part of the browser and needs no driver program. */
export async function startFirefox(origin: string): Promise<Firefox> {
  const profile = await mkdtemp(path.join(os.tmpdir(), "firefox-"));
  const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
  await writeFile(path.join(profile, "user.js"), lines.join("\n"));
  const args = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank"];
  const child = spawn(FIREFOX, args, { env: { ...process.env, HOME: profile }, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "close");
  const stop = async () => {
    child.kill();
    await ended;
    await rm(profile, { recursive: true, force: true });
  };
  try {
    const connection = await BidiConnection.open(`${await addressOf(child)}/session`);
    const problems: string[] = [];
    const page = await openPage(connection, origin, problems);
    const close = async () => {
      await connection.send("browser.close");
      connection.close();
      await stop();
    };
    return { page, problems, close };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function openPage(connection: BidiConnection, origin: string, problems: string[]): Promise<FirefoxPage> {
  await connection.send("session.new", { capabilities: {} });
  connection.onEvent = (method, params) => {
    if (method === "log.entryAdded" && params.level === "error") problems.push(`console: ${params.text}`);
    const url = String(params.request?.url ?? "");
    const isOutside = url !== "" && !url.startsWith(`${origin}/`) && !/^(?:data|blob|about):/.test(url);
    if (isOutside) problems.push(`request outside the origin: ${url}`);
  };
  const { contexts } = await connection.send("browsingContext.getTree");
  const { context } = contexts[0];
  await connection.send("browsingContext.setViewport", { context, viewport: VIEWPORT });
  const events = ["log.entryAdded", "network.beforeRequestSent"];
  await connection.send("session.subscribe", { events, contexts: [context] });
  return new FirefoxPage(connection, context);
}

/** Firefox prints it once it listens; it ends by itself if it cannot start. */
async function addressOf({ stderr }: ChildProcess): Promise<string> {
  if (stderr === null) throw new Error("the output of Firefox is not read");
  const printed: string[] = [];
  for await (const line of createInterface(stderr)) {
    const address = /listening on (ws:\S+)/.exec(line)?.[1];
    if (address !== undefined) {
      stderr.resume();
      return address;
    }
    printed.push(line);
  }
  throw new Error(`Firefox did not start:\n${printed.join("\n")}`);
}
