import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ManageFixture, openManageFixture } from "../../../../tests/support/manage-fixture.ts";
import { finishedRecord } from "../../../../tests/support/records.ts";
import { MANAGE_ROUTES } from "../../../contract/routes/manage.ts";
import type { LogStore } from "../../../domain/record/record.ts";
import { type Exchange, type ResponseSink, rejectUpload } from "../../exchange.ts";
import { exportHandlers } from "./log-export.ts";

const ROWS = 10_000;
const PAGE = 500;

/** A reader that takes one piece after the other, and says how much it was given. */
function slowSink(onWrite: (text: string) => void = () => {}) {
  const heads: Record<string, string>[] = [];
  let ended = 0;
  let gone = false;
  const sink: ResponseSink = {
    get started() {
      return heads.length > 0;
    },
    get disconnected() {
      return gone;
    },
    start: (_status, headers) => heads.push({ ...headers }),
    write: (chunk) => {
      onWrite(String(chunk));
      return false;
    },
    drained: () => new Promise((resolve) => setImmediate(resolve)),
    end: () => {
      ended += 1;
    },
    abort: () => {},
    onDisconnect: () => {},
  };
  return {
    sink,
    heads,
    ended: () => ended,
    leave: () => {
      gone = true;
    },
  };
}

describe("an export of a long log", () => {
  let room: ManageFixture;
  let workspaceId = "";
  beforeAll(async () => {
    room = await openManageFixture();
    const { id } = await room.ask("manageCreateWorkspace", { body: { slug: "long" } });
    workspaceId = String(id);
    for (let n = 0; n < ROWS; n += 2000)
      await room.store.ingest(
        Array.from({ length: 2000 }, (_, at) =>
          finishedRecord(`r${String(n + at).padStart(6, "0")}`, {
            workspaceId,
            createdAtMs: 1000 + n + at,
            app: at % 2 === 0 ? "=1+1" : 'a "b", c',
            environment: at % 10 === 0 ? "test" : "live",
          }),
        ),
      );
  }, 120_000);
  afterAll(() => room.close());

  function run(query: string, sink: ResponseSink, log: Pick<LogStore, "list"> = room.store.log): Promise<void> {
    const handler = exportHandlers({ directory: room.directory, waitForIngest: async () => {}, store: { log } })[
      "manageExportRequests"
    ];
    const route = MANAGE_ROUTES.find(({ id }) => id === "manageExportRequests");
    if (handler?.kind !== "streamed" || route === undefined) throw new Error("there is no export");
    const exchange: Exchange = {
      requestId: "req_test",
      route,
      params: { workspace: "long" },
      query: new URLSearchParams(query),
      headers: {},
      clientAddress: "127.0.0.1",
      receivedAtMs: 0,
      startedMs: 0,
      principal: undefined,
      baseHeaders: {},
      body: async () => Buffer.alloc(0),
      upload: rejectUpload,
    };
    return handler.handle(exchange, sink);
  }

  test("LOG-02 is streamed while it is read, at most one page ahead", async () => {
    let [read, written, ahead, longest] = [0, 0, 0, 0];
    const ids = new Set<string>();
    const { sink, heads, ended } = slowSink((text) => {
      longest = Math.max(longest, text.length);
      for (const line of text.trimEnd().split("\n")) ids.add(String(JSON.parse(line).id));
      written = ids.size;
    });
    await run("format=jsonl", sink, {
      list: async (...asked) => {
        const page = await room.store.log.list(...asked);
        read += page.rows.length;
        ahead = Math.max(ahead, read - written);
        return page;
      },
    });
    expect([ids.size, written, ended()]).toEqual([ROWS, ROWS, 1]);
    expect(ahead).toBeLessThanOrEqual(2 * PAGE);
    expect(longest).toBeLessThan(PAGE * 5000);
    expect(heads).toEqual([expect.objectContaining({ "content-type": "application/x-ndjson" })]);
  }, 60_000);

  test("LOG-02 as CSV has a header row, quoting and no formulas", async () => {
    let text = "";
    const { sink, heads } = slowSink((piece) => {
      text += piece;
    });
    await run("format=csv&env=test&until=1970-01-01T00:00:05Z", sink);
    const [head = "", ...lines] = text.trimEnd().split("\r\n");
    expect(head).toMatch(/^id,created_at,.*,usage\.input_tokens,.*,attempts,own_key$/);
    expect(lines).toHaveLength(400);
    expect(lines[0]).toContain(",'=1+1,");
    expect(heads[0]?.["content-type"]).toBe("text/csv; charset=utf-8; header=present");
    expect(heads[0]?.["content-disposition"]).toBe('attachment; filename="long-requests.csv"');
  });

  test("LOG-02 ends when the client disconnects, and aborts when the store fails", async () => {
    let pieces = 0;
    const reader = slowSink(() => {
      pieces += 1;
      if (pieces === 3) reader.leave();
    });
    await run("", reader.sink);
    expect([pieces, reader.ended()]).toEqual([3, 0]);

    let pages = 0;
    const broken = slowSink();
    const list: LogStore["list"] = async (...asked) => {
      pages += 1;
      if (pages > 2) throw new Error("the store is away");
      return room.store.log.list(...asked);
    };
    await expect(run("", broken.sink, { list })).rejects.toThrow("the store is away");
    expect(broken.ended()).toBe(0);
  });

  test("LOG-02 rejects unknown parameters before it starts", async () => {
    const { sink, heads } = slowSink();
    await expect(run("format=xml", sink)).rejects.toMatchObject({ code: "invalid_value", param: "format" });
    await expect(run("limit=5", sink)).rejects.toMatchObject({ code: "unsupported_parameter", param: "limit" });
    expect(heads).toEqual([]);
  });
});
