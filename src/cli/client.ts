import { readFileSync } from "node:fs";
import path from "node:path";
import { isJsonObject, type JsonObject, tryParseJsonObject } from "../kit/json.ts";
import { reachableHost } from "../kit/reachable-host.ts";
import { DATA_ROOT } from "../settings/project-paths.ts";
import { CliError } from "./command.ts";
import { readSession } from "./kept-sessions.ts";

type Env = Readonly<Record<string, string | undefined>>;

const TIMEOUT_MS = 120_000;
const NOT_FOUND = 404;

/** A running gateway, as the command line talks to it. */
export type Client = {
  send(method: string, target: string, body?: JsonObject): Promise<JsonObject>;
  /** Undefined when it does not exist. */
  find(target: string): Promise<JsonObject | undefined>;
  /** The body of an answer as it comes. */
  follow(target: string): AsyncGenerator<Uint8Array>;
};

export function makeClient(env: Env): Client {
  const base = baseUrl(env);
  const receive = (method: string, target: string, body?: JsonObject) =>
    reach(`${base}${target}`, method, tokenOf(env), body).catch((error: unknown) => {
      throw unreachable(base, error);
    });
  return {
    async send(method, target, body) {
      return answerOf(await receive(method, target, body), base);
    },
    async find(target) {
      const response = await receive("GET", target);
      return response.status === NOT_FOUND && tryParseJsonObject(response.text) !== undefined
        ? undefined
        : answerOf(response, base);
    },
    async *follow(target) {
      // It takes as long as it takes: an answer that breaks off ends it.
      const response = await fetch(`${base}${target}`, { headers: headersOf(tokenOf(env)), redirect: "error" }).catch(
        (error: unknown) => {
          throw unreachable(base, error);
        },
      );
      if (!response.ok || response.body === null) {
        answerOf({ status: response.status, text: await response.text() }, base);
        throw new CliError(`${base} does not respond like a gateway (HTTP ${response.status}).`);
      }
      try {
        yield* response.body;
      } catch {
        throw new CliError(`The gateway at ${base} closed the connection early: the output is incomplete.`);
      }
    },
  };
}

function headersOf(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}`, accept: "*/*" };
}

async function reach(url: string, method: string, token: string, body: JsonObject | undefined) {
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return { status: response.status, text: await response.text() };
}

export function answerOf({ status, text }: { status: number; text: string }, base: string): JsonObject {
  const answer = tryParseJsonObject(text);
  if (answer === undefined) throw new CliError(`${base} does not respond like a gateway (HTTP ${status}).`);
  if (status < 400) return answer;
  const error = isJsonObject(answer["error"]) ? answer["error"] : {};
  const code = typeof error["code"] === "string" ? ` (${error["code"]})` : "";
  const message = typeof error["message"] === "string" ? error["message"] : `HTTP ${status}`;
  const how = error["code"] === "fresh_sign_in_needed" ? " Run `gateway login` for that." : "";
  throw new CliError(`${message}${how}${code}`);
}

export function unreachable(base: string, error: unknown): CliError {
  if (error instanceof CliError) return error;
  if (error instanceof Error && error.name === "TimeoutError")
    return new CliError(`The gateway at ${base} did not respond within ${TIMEOUT_MS / 1000} seconds.`);
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const why = cause instanceof Error ? cause.message || ("code" in cause ? String(cause.code) : cause.name) : "";
  return new CliError(
    `Cannot reach the gateway at ${base}${why === "" ? "" : ` (${why})`}. Start it with \`gateway serve\`, or set GATEWAY_URL to its URL.`,
  );
}

/** A setting or the content of its `_FILE` twin. */
export function settingOf(env: Env, name: string): string | undefined {
  const file = env[`${name}_FILE`];
  if (file !== undefined && file !== "") return readText(file) ?? fail(`${name}_FILE: cannot read the file ${file}.`);
  const value = env[name];
  return value === "" ? undefined : value;
}

function fail(message: string): never {
  throw new CliError(message);
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}

/** GATEWAY_URL, or where a gateway with these settings listens. A base address with /v1 is understood as well. */
export function baseUrl(env: Env): string {
  const configured = settingOf(env, "GATEWAY_URL");
  if (configured !== undefined) {
    if (!URL.canParse(configured) || !/^https?:$/.test(new URL(configured).protocol))
      throw new CliError("GATEWAY_URL: must be an absolute http or https URL such as http://127.0.0.1:8080.");
    return configured.replace(/\/+$/, "").replace(/\/v1$/, "");
  }
  return `http://${reachableHost(settingOf(env, "HOST") ?? "127.0.0.1")}:${settingOf(env, "PORT") ?? "8080"}`;
}

export function dataDirOf(env: Env): string {
  return path.resolve(DATA_ROOT, settingOf(env, "DATA_DIR") ?? "data");
}

/** The operator's token as it was set, the session of who signed in here, or the token in the data folder. */
function tokenOf(env: Env): string {
  const configured = settingOf(env, "GATEWAY_ADMIN_TOKEN") ?? readSession(env, baseUrl(env))?.token;
  if (configured !== undefined) return configured;
  const file = path.join(dataDirOf(env), "admin-token");
  const kept = readText(file);
  if (kept !== undefined && kept !== "") return kept;
  throw new CliError(
    `There is no operator token in ${file}. Sign in with \`gateway login\`, start the gateway once with \`gateway serve\`, or set GATEWAY_ADMIN_TOKEN.`,
  );
}
