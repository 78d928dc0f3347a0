import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";

/** A response that is read as it comes. */
export type StreamingResponse = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Resolves once the text read so far contains this; rejects when the response ends before. */
  until(part: string): Promise<void>;
  /** Resolves when the response is over: `whole`, or `cut` when the connection broke. */
  readonly over: Promise<"whole" | "cut">;
  hangUp(): void;
};

/** A GET, or with a body a POST, whose response is read piece by piece. */
export function openResponse(
  origin: string,
  key: string,
  call: { readonly path: string; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> },
): Promise<StreamingResponse> {
  const { path, body, headers } = call;
  const { promise, resolve, reject } = Promise.withResolvers<StreamingResponse>();
  const request = httpRequest(`${origin}${path}`, {
    method: body === undefined ? "GET" : "POST",
    agent: false,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
  });
  request.on("error", reject);
  request.on("response", (response) => resolve(followed(response, () => request.destroy())));
  request.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}

function followed(response: IncomingMessage, hangUp: () => void): StreamingResponse {
  let text = "";
  const watchers = new Set<() => void>();
  const { promise: over, resolve } = Promise.withResolvers<"whole" | "cut">();
  const notify = () => {
    for (const watcher of [...watchers]) watcher();
  };
  response.setEncoding("utf8");
  response.on("error", () => undefined);
  response.on("data", (chunk: string) => {
    text += chunk;
    notify();
  });
  response.on("close", () => {
    resolve(response.complete ? "whole" : "cut");
    notify();
  });
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    get text() {
      return text;
    },
    until: (part) =>
      new Promise((found, lost) => {
        const check = () => {
          if (text.includes(part)) found();
          else if (response.closed) lost(new Error(`the answer ended without ${JSON.stringify(part)}: ${text}`));
          else return;
          watchers.delete(check);
        };
        watchers.add(check);
        check();
      }),
    over,
    hangUp,
  };
}
