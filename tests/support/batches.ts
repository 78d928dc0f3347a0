import type { Called, Json, TestGateway } from "./gateway.ts";

/** Calls on files and batches with one key. */
export type BatchCaller = {
  call(path: string, init?: Parameters<TestGateway["call"]>[2]): Promise<Called>;
  upload(lines: readonly unknown[] | string, options?: { readonly purposeLast?: boolean }): Promise<Called>;
  /** A file and its batch; returns the batch. */
  submit(lines: readonly unknown[], more?: Record<string, unknown>): Promise<Json>;
  /** The batch once its status is one of these; by default once it is over. */
  until(id: string, statuses?: readonly string[]): Promise<Json>;
  results(fileId: string | null): Promise<Json[]>;
};

const BATCH_OVER = ["completed", "failed", "expired", "cancelled"];

export function chatLine(
  id: string,
  content = `hello ${id}`,
  model = "sandbox/chat",
  body: Record<string, unknown> = {},
) {
  return {
    custom_id: id,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model, messages: [{ role: "user", content }], max_tokens: 20, ...body },
  };
}

export const jsonLines = (lines: readonly unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

export function batchCaller(
  call: (path: string, init?: Parameters<TestGateway["call"]>[2]) => Promise<Called>,
): BatchCaller {
  const upload: BatchCaller["upload"] = (lines, { purposeLast = false } = {}) => {
    const text = typeof lines === "string" ? lines : jsonLines(lines);
    const file = `--b\r\ncontent-disposition: form-data; name="file"; filename="requests.jsonl"\r\n\r\n${text}\r\n`;
    const purpose = '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n';
    const body = `${purposeLast ? file + purpose : purpose + file}--b--\r\n`;
    return call("/v1/files", { method: "POST", body, headers: { "content-type": "multipart/form-data; boundary=b" } });
  };
  const until: BatchCaller["until"] = async (id, statuses = BATCH_OVER) => {
    for (;;) {
      const { status, body, text } = await call(`/v1/batches/${id}`);
      if (status !== 200) throw new Error(text);
      if (statuses.includes(body.status)) return body;
      if (BATCH_OVER.includes(body.status)) throw new Error(`the batch is ${body.status}: ${text}`);
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  };
  return {
    call,
    upload,
    until,
    async submit(lines, more = {}) {
      const file = await upload(lines);
      if (file.status !== 200) throw new Error(file.text);
      const created = await call("/v1/batches", {
        body: {
          input_file_id: file.body.id,
          endpoint: "/v1/chat/completions",
          completion_window: "24h",
          ...more,
        },
      });
      if (created.status !== 200) throw new Error(created.text);
      return created.body;
    },
    async results(fileId) {
      if (fileId === null) return [];
      const { text } = await call(`/v1/files/${fileId}/content`);
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line));
    },
  };
}
