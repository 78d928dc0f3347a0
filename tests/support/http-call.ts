import { type Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

export type HttpCall = {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type HttpReply = { readonly status: number; readonly headers: Headers; readonly text: string };

/** Node's own client: `fetch` takes three times the CPU, and tests send tens of thousands of requests. */
export async function callHttp(agent: Agent, url: string, { body, ...options }: HttpCall): Promise<HttpReply> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, { agent, ...options }, resolve).once("error", reject);
    // Node writes a string in one piece with the head, whose Latin-1 values would become UTF-8.
    sent.end(body === undefined ? undefined : Buffer.from(body));
  });
  const headers = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct))
    for (const value of values ?? []) headers.append(name, value);
  return { status: response.statusCode ?? 0, headers, text: await text(response) };
}
