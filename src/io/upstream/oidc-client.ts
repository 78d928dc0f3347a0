import { z } from "zod";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { tryParseDocument } from "../../kit/json-document.ts";
import type { Timers } from "../../kit/timers.ts";
import { fetchOnce } from "./fetch-once.ts";
import type { Transport } from "./transport.ts";

const BYTES_MAX = 1024 * 1024;
/** Shorter than the timeout of a sign-in. */
const TIMEOUT_MS = 3_000;

type OidcClientDeps = { readonly transport: Pick<Transport, "send">; readonly timers: Timers };

/** What the gateway itself reads from an OpenID provider. */
export type OidcClient = {
  /** The `prompt` values that the provider supports; empty if it does not say. */
  prompts(discoveryUrl: string): Promise<readonly string[]>;
  /** The claims that an access token gives access to; undefined if the provider has no such endpoint. */
  userInfo(discoveryUrl: string, accessToken: string): Promise<JsonObject | undefined>;
};

const Discovery = z.object({
  prompt_values_supported: z.array(z.string()).catch([]),
  userinfo_endpoint: z.string().optional().catch(undefined),
});

export function createOidcClient(deps: OidcClientDeps): OidcClient {
  const discovery = async (url: string) => Discovery.parse(await fetchJson(deps, url, "the discovery document"));
  return {
    prompts: async (url) => (await discovery(url)).prompt_values_supported,
    async userInfo(discoveryUrl, accessToken) {
      const { userinfo_endpoint: url } = await discovery(discoveryUrl);
      if (url === undefined) return undefined;
      return fetchJson(deps, url, "the user information", { authorization: `Bearer ${accessToken}` });
    },
  };
}

async function fetchJson(
  { transport, timers }: OidcClientDeps,
  url: string,
  what: string,
  credential: Readonly<Record<string, string>> = {},
): Promise<JsonObject> {
  const headers = { accept: "application/json", "accept-encoding": "identity", ...credential };
  const request = { url, headers, body: "", method: "GET" } as const;
  const response = await fetchOnce(transport, request, { timers, timeoutMs: TIMEOUT_MS, bytesMax: BYTES_MAX });
  if (!("status" in response)) throw new Error(`${what} could not be fetched (${response.kind}: ${response.why})`);
  if (response.status !== 200) throw new Error(`${what} was returned with status ${response.status}`);
  const json = tryParseDocument(response.bytes);
  if (!isJsonObject(json)) throw new Error(`${what} is not a JSON object within the limits`);
  return json;
}
