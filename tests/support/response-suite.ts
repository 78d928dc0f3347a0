import { expect, test } from "vitest";
import type { ResponseEvent, ResponseStore, StoredResponse } from "../../src/domain/responses/response-store.ts";
import { MasterKeys } from "../../src/io/master-keys.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { openVault } from "../../src/io/vault.ts";

export const MASTER_KEY = Buffer.alloc(32, 3);

export function storedResponse(id: string, more: Partial<StoredResponse> = {}): StoredResponse {
  return {
    id,
    workspaceId: "ws_1",
    keyId: "key_1",
    createdAtMs: 1000,
    expiresAtMs: 5000,
    status: "completed",
    model: "vendor/model",
    previousId: null,
    background: "none",
    runs: 0,
    response: { id, status: "completed", output: [{ type: "message", id: `msg_of_${id}`, content: [] }] },
    input: [{ role: "user", content: `asked in ${id}` }],
    ...more,
  };
}

const NOW = 2000;

/** The first run of a response, or the run that a row names. */
export const runOf = (id: string, run = 0) => ({ workspaceId: "ws_1", id, run });

const open = (store: Store) => store.responses(openVault(new MasterKeys(MASTER_KEY), store.dataKeys));

/** What every engine must do for stored responses. */
export function responseTests(current: () => Store, reopen: () => Promise<Store>): void {
  readTests(current, reopen);
  workTests(current);
  sizeTests(current);
}

function readTests(current: () => Store, reopen: () => Promise<Store>): void {
  test("RESP-03 a stored response is returned unchanged, after a restart too, and only in its workspace", async () => {
    await open(current()).add(storedResponse("resp_1"));
    const responses = open(await reopen());
    expect(await responses.find("ws_1", "resp_1", NOW)).toEqual(storedResponse("resp_1"));
    expect(await responses.find("ws_2", "resp_1", NOW)).toBeUndefined();
    expect(await responses.find("ws_1", "resp_2", NOW)).toBeUndefined();
    expect(await responses.remove("ws_2", "resp_1", NOW)).toBe(false);
    expect(await responses.remove("ws_1", "resp_1", NOW)).toBe(true);
    expect(await responses.remove("ws_1", "resp_1", NOW)).toBe(false);
    expect(await responses.find("ws_1", "resp_1", NOW)).toBeUndefined();
  });

  test("HDR-02 who served a response is stored with it, from its begin or its end, and is not part of it", async () => {
    const responses = open(current());
    const servedBy = { "x-svc-model": "vendor/model", "x-svc-sovereignty-level": "L3" };
    await responses.add(storedResponse("resp_1", { servedBy }));
    expect(await responses.find("ws_1", "resp_1", NOW)).toEqual(storedResponse("resp_1", { servedBy }));
    await responses.add(storedResponse("resp_2", { status: "queued" }));
    expect((await responses.find("ws_1", "resp_2", NOW))?.servedBy).toBeUndefined();
    const { response } = storedResponse("resp_2");
    await responses.finish({ id: "resp_2", workspaceId: "ws_1", status: "completed", response, events: [], servedBy });
    expect(await responses.find("ws_1", "resp_2", NOW)).toEqual(storedResponse("resp_2", { servedBy }));
    const kept = responses.bytesOf("ws_1");
    await responses.count();
    expect(responses.bytesOf("ws_1")).toBe(kept);
    // A provider's field of the same name is not the gateway's.
    await responses.add(storedResponse("resp_3", { response: { ...response, gateway_served_by: servedBy } }));
    expect(await responses.find("ws_1", "resp_3", NOW)).toEqual(storedResponse("resp_3", { response }));
  });

  test("RESP-05 expired responses are hidden, before the sweep and after it", async () => {
    const responses = open(current());
    await responses.add(storedResponse("resp_1", { expiresAtMs: NOW }));
    await responses.add(storedResponse("resp_2", { expiresAtMs: NOW + 1, previousId: "resp_1" }));
    expect(await responses.find("ws_1", "resp_1", NOW)).toBeUndefined();
    expect(await responses.find("ws_1", "resp_1", NOW - 1)).toBeDefined();
    expect(await responses.remove("ws_1", "resp_1", NOW)).toBe(false);
    expect((await responses.list("ws_1", NOW, 10, null)).rows.map(({ id }) => id)).toEqual(["resp_2"]);
    expect(await responses.items("ws_1", ["msg_of_resp_1"], NOW)).toEqual(new Map());
    expect(await responses.chain("ws_1", "resp_2", NOW)).toMatchObject({ is: "broken" });
    expect(await responses.sweep(NOW)).toBe(1);
    expect(await responses.find("ws_1", "resp_1", NOW - 1)).toBeUndefined();
    expect(await responses.find("ws_1", "resp_2", NOW)).toBeDefined();
  });

  test("RESP-03 a conversation is assembled oldest first, and breaks where a link was deleted", async () => {
    const responses = open(current());
    await responses.add(storedResponse("resp_1"));
    await responses.add(storedResponse("resp_2", { previousId: "resp_1" }));
    await responses.add(storedResponse("resp_3", { previousId: "resp_2" }));
    await responses.add(storedResponse("resp_x", { previousId: "resp_1", workspaceId: "ws_2" }));
    const linksOf = async (workspaceId: string, id: string) => {
      const chain = await responses.chain(workspaceId, id, NOW);
      return chain.is === "too_long" ? chain.is : [chain.is, ...chain.links.map((link) => link.id)];
    };
    expect(await linksOf("ws_1", "resp_3")).toEqual(["whole", "resp_1", "resp_2", "resp_3"]);
    expect(await linksOf("ws_2", "resp_3")).toEqual(["broken"]);
    expect(await linksOf("ws_2", "resp_x")).toEqual(["broken", "resp_x"]);
    await responses.remove("ws_1", "resp_2", NOW);
    expect(await linksOf("ws_1", "resp_3")).toEqual(["broken", "resp_3"]);
    expect(await linksOf("ws_1", "resp_2")).toEqual(["broken"]);
  });

  test("KEY-10 responses that a key may not read count like deleted ones, also when they are too long to be read", async () => {
    const responses = open(current());
    const input = [{ type: "message", role: "user", content: "x".repeat(33 * 1024 * 1024) }];
    await responses.add(storedResponse("resp_1", { input }));
    await responses.add(storedResponse("resp_2", { input, previousId: "resp_1" }));
    await responses.add(storedResponse("resp_3", { previousId: "resp_2", keyId: "key_own" }));
    const mayRead = (keyId: string) => keyId === "key_own";
    const items = ["msg_of_resp_1", "msg_of_resp_2", "msg_of_resp_3"];
    expect(await responses.chain("ws_1", "resp_3", NOW)).toEqual({ is: "too_long" });
    expect(await responses.chain("ws_1", "resp_2", NOW, mayRead)).toEqual({ is: "broken", links: [] });
    const own = await responses.chain("ws_1", "resp_3", NOW, mayRead);
    expect(own.is === "too_long" ? own.is : [own.is, ...own.links.map(({ id }) => id)]).toEqual(["broken", "resp_3"]);
    expect(await responses.items("ws_1", items, NOW)).toBeUndefined();
    expect([...((await responses.items("ws_1", items, NOW, mayRead))?.keys() ?? [])]).toEqual(["msg_of_resp_3"]);
  });

  test("RESP-03 items are found by id: output items, and input items by their assigned id", async () => {
    const responses = open(current());
    const id = `resp_${"0123456789abcdef".repeat(2)}`;
    await responses.add(storedResponse(id));
    const itemId = `msg_${"0123456789abcdef".repeat(2)}_in0`;
    const found = await responses.items("ws_1", [`msg_of_${id}`, itemId, "msg_none"], NOW);
    expect([...(found?.keys() ?? [])].toSorted()).toEqual([itemId, `msg_of_${id}`].toSorted());
    expect(found?.get(itemId)).toEqual({ type: "message", id: itemId, role: "user", content: `asked in ${id}` });
    expect(await responses.items("ws_2", [`msg_of_${id}`, itemId], NOW)).toEqual(new Map());
  });
}

function workTests(current: () => Store): void {
  test("RESP-04 background work: begun, followed, finished; its request is deleted at its end, its events stay", async () => {
    const responses = open(current());
    const request = { body: '{"model":"m"}', headers: { "x-title": "app" }, clientAddress: "::1" };
    const queued = storedResponse("resp_1", { status: "queued", background: "streamed", response: { output: [] } });
    await responses.add(queued, request);
    await responses.add(storedResponse("resp_2"));
    expect(await responses.unfinished()).toMatchObject([{ id: "resp_1", status: "queued", runs: 0, request }]);
    expect(await responses.startRun("resp_1")).toEqual({ is: "started", run: 1 });
    expect(await responses.unfinished()).toMatchObject([
      { status: "in_progress", runs: 1, hasStartedAnswering: false },
    ]);
    expect((await responses.find("ws_1", "resp_1", NOW))?.response).toEqual({ output: [], status: "in_progress" });
    const event = (sequence: number) => ({ sequence, text: `event ${sequence}` });
    await responses.appendEvents(runOf("resp_1", 1), [event(0), event(1)]);
    await responses.appendEvents(runOf("resp_1", 1), [event(2)]);
    const { response } = storedResponse("resp_1");
    await responses.finish({ id: "resp_1", workspaceId: "ws_1", status: "completed", response, events: [event(3)] });
    expect(await responses.unfinished()).toEqual([]);
    expect(await responses.find("ws_1", "resp_1", NOW)).toMatchObject({ status: "completed", runs: 1, response });
    expect(await responses.events("ws_1", "resp_1", -1)).toEqual([0, 1, 2, 3].map(event));
    expect(await responses.events("ws_1", "resp_1", 0)).toEqual([1, 2, 3].map(event));
    expect((await responses.items("ws_1", ["msg_of_resp_1"], NOW))?.size).toBe(1);
    // A finished response does not begin again, and has one end.
    expect(await responses.startRun("resp_1")).toEqual({ is: "inactive" });
    expect(await responses.startRun("resp_none")).toEqual({ is: "inactive" });
    const other = { ...response, status: "cancelled" };
    await responses.finish({
      id: "resp_1",
      workspaceId: "ws_1",
      status: "cancelled",
      response: other,
      events: [event(4)],
    });
    expect(await responses.find("ws_1", "resp_1", NOW)).toMatchObject({ status: "completed", runs: 1, response });
    expect(await responses.events("ws_1", "resp_1", 2)).toEqual([event(3)]);
  });

  test("RESP-05 RESP-04 stores that a run has begun to reply, and that it was cancelled", async () => {
    const responses = open(current());
    for (const id of ["resp_1", "resp_2"]) await responses.add(storedResponse(id, { status: "queued" }));
    const marks = async () =>
      (await responses.unfinished()).map(({ id, hasStartedAnswering, isCancelled }) => [
        id,
        hasStartedAnswering,
        isCancelled,
      ]);
    const [first, second] = [(of: boolean) => ["resp_1", of, false], (of: boolean) => ["resp_2", false, of]];
    expect((await marks()).toSorted()).toEqual([first(false), second(false)]);
    await responses.markAnswering("resp_1");
    await responses.cancel("ws_2", "resp_1");
    await responses.cancel("ws_1", "resp_2");
    expect((await marks()).toSorted()).toEqual([first(true), second(true)]);
    await responses.add(storedResponse("resp_3"));
    await responses.startRun("resp_1");
    expect(await responses.activeRuns()).toEqual(new Map([["resp_1", 1]]));
    expect(await responses.startRun("resp_2")).toEqual({ is: "inactive" });
    expect(await responses.find("ws_1", "resp_2", NOW)).toMatchObject({ status: "queued", runs: 0 });
  });

  test("RESP-05 BILL-07 a reply about to be charged is stored but hidden until its end, and removed after it", async () => {
    const responses = open(current());
    const request = { body: "{}", headers: {}, clientAddress: "::1" };
    for (const id of ["resp_1", "resp_2"])
      await responses.add(storedResponse(id, { status: "queued", response: { output: [] } }), request);
    const { response } = storedResponse("resp_1");
    const answer = { response, servedBy: { "x-svc-model": "vendor/model" } };
    await responses.startRun("resp_1");
    await responses.saveCompleted({ workspaceId: "ws_1", id: "resp_1" }, answer);
    // A late begin message undoes nothing.
    await responses.markAnswering("resp_1");
    const [made, other] = (await responses.unfinished()).toSorted((one, two) => one.id.localeCompare(two.id));
    expect(made).toMatchObject({ id: "resp_1", hasStartedAnswering: true, request: undefined, completed: answer });
    expect(other).toMatchObject({ id: "resp_2", hasStartedAnswering: false, request, completed: undefined });
    expect((await responses.find("ws_1", "resp_1", NOW))?.response).toEqual({ output: [], status: "in_progress" });
    for (const id of ["resp_1", "resp_2"])
      await responses.finish({ id, workspaceId: "ws_1", status: "failed", response: { output: [] }, events: [] });
    const size = responses.bytesOf("ws_1");
    await responses.saveCompleted({ workspaceId: "ws_1", id: "resp_2" }, answer);
    expect(await responses.find("ws_1", "resp_2", NOW)).toMatchObject({ status: "failed", response: { output: [] } });
    expect(responses.bytesOf("ws_1")).toBe(size);
    await responses.count();
    expect(responses.bytesOf("ws_1")).toBe(size);
  });

  test("RESP-05 BILL-02 one run ends it: the first with a complete reply, or the newest; an end is final", async () => {
    const responses = open(current());
    const ids = ["resp_whole", "resp_failing", "resp_over"];
    for (const id of ids) await responses.add(storedResponse(id, { status: "queued" }));
    for (const id of [...ids, ...ids]) await responses.startRun(id);
    const end = (id: string, run: number, made: "complete" | "partial") => responses.claimEnd({ id, run }, made);
    expect(await end("resp_whole", 1, "partial")).toBe("other_run");
    const both = await Promise.all([end("resp_whole", 1, "complete"), end("resp_whole", 2, "complete")]);
    expect(both.toSorted()).toEqual(["claimed", "other_run"]);
    const [first, other] = both[0] === "claimed" ? [1, 2] : [2, 1];
    // A run without a confirmation asks again.
    expect(await end("resp_whole", first, "complete")).toBe("claimed");
    expect(await end("resp_whole", other, "partial")).toBe("other_run");
    expect(await end("resp_failing", 2, "partial")).toBe("claimed");
    expect(await end("resp_failing", 1, "complete")).toBe("other_run");
    const marks = async () =>
      Object.fromEntries(
        (await responses.unfinished()).map(({ id, hasStartedAnswering }) => [id, hasStartedAnswering]),
      );
    // No run repeats what another was about to end, unless that one gives it up.
    const taken = { resp_whole: true, resp_failing: true, resp_over: false };
    await responses.releaseEnd({ id: "resp_failing", run: 1 });
    expect(await marks()).toEqual(taken);
    await responses.releaseEnd({ id: "resp_failing", run: 2 });
    expect(await marks()).toEqual({ ...taken, resp_failing: false });
    expect(await end("resp_failing", 2, "partial")).toBe("claimed");
    await responses.add(storedResponse("resp_newer", { status: "queued" }));
    const { response } = storedResponse("resp_over");
    await responses.finish({ id: "resp_over", workspaceId: "ws_1", status: "cancelled", response, events: [] });
    expect(await end("resp_over", 2, "complete")).toBe("finished");
    // No run begins what another is about to end, and that end is stored whichever had begun before.
    expect(await responses.startRun("resp_failing")).toEqual({ is: "other_run" });
    await responses.cancel("ws_1", "resp_whole");
    expect(await responses.startRun("resp_whole")).toEqual({ is: "other_run" });
    const failed = { id: "resp_whole", workspaceId: "ws_1", status: "failed", response, events: [] } as const;
    await responses.startRun("resp_newer");
    await responses.startRun("resp_newer");
    expect(await end("resp_newer", 1, "complete")).toBe("claimed");
    await responses.finish({ ...failed, id: "resp_newer", run: 1 });
    expect(await responses.find("ws_1", "resp_newer", NOW)).toMatchObject({ status: "failed", runs: 2 });
    // A response whose run crashed while ending it is ended by its finder.
    expect(await responses.finish({ ...failed, run: other })).toBe("unchanged");
    expect(await responses.find("ws_1", "resp_whole", NOW)).toMatchObject({ status: "in_progress" });
    expect(await responses.finish({ ...failed, lastRun: 2 })).toBe("finished");
    expect(await responses.find("ws_1", "resp_whole", NOW)).toMatchObject({ status: "failed" });
    expect(await end("resp_none", 1, "complete")).toBe("deleted");
  });

  test("RESP-04 unacknowledged events are written again with later ones, each once", async () => {
    const responses = open(current());
    await responses.add(storedResponse("resp_1", { status: "in_progress", background: "streamed" }));
    const event = (sequence: number) => ({ sequence, text: `event ${sequence} ${"e".repeat(50_000)}` });
    const upTo = (count: number) => Array.from({ length: count }, (_, sequence) => event(sequence));
    const read = async () => {
      const all: number[] = [];
      for (let after = -1; ; after = all.at(-1) ?? after) {
        const piece = await responses.events("ws_1", "resp_1", after);
        if (piece.length === 0) return all;
        all.push(...piece.map(({ sequence }) => sequence));
      }
    };
    const counted = async () => {
      const kept = responses.bytesOf("ws_1");
      await responses.count();
      expect(kept).toBe(responses.bytesOf("ws_1"));
    };
    await responses.appendEvents(runOf("resp_1"), upTo(2));
    await responses.appendEvents(runOf("resp_1"), upTo(5));
    expect(await read()).toEqual([0, 1, 2, 3, 4]);
    await counted();
    const { response } = storedResponse("resp_1");
    const end = { id: "resp_1", workspaceId: "ws_1", status: "completed", response, events: upTo(7) } as const;
    await responses.finish(end);
    await responses.finish(end);
    expect(await read()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(await responses.find("ws_1", "resp_1", NOW)).toMatchObject({ status: "completed" });
    await counted();
  });

  test("RESP-04 RESP-05 events are those of one run up to the end: a superseded run writes no more", async () => {
    const responses = open(current());
    await responses.add(storedResponse("resp_1", { status: "queued", background: "streamed" }));
    const event = (sequence: number, by: string) => ({ sequence, text: `event ${sequence} ${by}` });
    const texts = async () => (await responses.events("ws_1", "resp_1", -1)).map(({ text }) => text);
    const finish = (status: "completed" | "failed", events: ResponseEvent[], run?: number) =>
      responses.finish({ ...runOf("resp_1"), run, status, response: storedResponse("resp_1").response, events });
    await responses.startRun("resp_1");
    const [first, second] = [runOf("resp_1", 1), runOf("resp_1", 2)];
    expect(await responses.appendEvents(first, [event(0, "first")])).toBe("stored");
    await responses.startRun("resp_1");
    expect(await responses.appendEvents(second, [event(1, "second")])).toBe("stored");
    await responses.appendEvents(second, [event(2, "second"), event(3, "second")]);
    expect(await responses.appendEvents(first, [event(1, "first"), event(2, "first")])).toBe("inactive");
    expect(await texts()).toEqual(["event 0 first", "event 1 second", "event 2 second", "event 3 second"]);
    // It cannot end what another run works on, except with a reply: that is the end, with its events.
    await finish("failed", [event(1, "first"), event(2, "last")], 1);
    expect(await responses.find("ws_1", "resp_1", NOW)).toMatchObject({ status: "in_progress" });
    expect(await texts()).toEqual(["event 0 first", "event 1 second", "event 2 second", "event 3 second"]);
    await finish("completed", [event(1, "first"), event(2, "last")]);
    expect(await responses.appendEvents(second, [event(4, "second")])).toBe("inactive");
    expect(await responses.appendEvents(second, [event(2, "second")])).toBe("inactive");
    await finish("failed", [event(2, "second")], 2);
    expect(await texts()).toEqual(["event 0 first", "event 1 first", "event 2 last"]);
    expect(await responses.find("ws_1", "resp_1", NOW)).toMatchObject({ status: "completed" });
    const kept = responses.bytesOf("ws_1");
    await responses.count();
    expect(responses.bytesOf("ws_1")).toBe(kept);
  });

  test("RESP-04 a long list of events is read in pieces, however it was written", async () => {
    const responses = open(current());
    await responses.add(storedResponse("resp_1", { status: "in_progress", background: "streamed" }));
    const events = Array.from({ length: 40 }, (_, sequence) => ({ sequence, text: "e".repeat(100_000) }));
    await responses.appendEvents(runOf("resp_1"), events.slice(0, 30));
    const { response } = storedResponse("resp_1");
    await responses.finish({
      id: "resp_1",
      workspaceId: "ws_1",
      status: "completed",
      response,
      events: events.slice(30),
    });
    const read = await responses.events("ws_1", "resp_1", -1);
    expect(read.length).toBeLessThan(25);
    let after = 9;
    for (let piece = await responses.events("ws_1", "resp_1", after); piece.length > 0; ) {
      expect(piece[0]?.sequence).toBe(after + 1);
      after = piece.at(-1)?.sequence ?? after;
      piece = await responses.events("ws_1", "resp_1", after);
    }
    expect(after).toBe(39);
  });

  test("RESP-03 a response deleted while in progress does not come back", async () => {
    const responses = open(current());
    await responses.add(storedResponse("resp_1", { status: "in_progress", background: "streamed" }));
    await responses.appendEvents(runOf("resp_1"), [{ sequence: 0, text: "event" }]);
    await responses.remove("ws_1", "resp_1", NOW);
    await responses.appendEvents(runOf("resp_1"), [{ sequence: 1, text: "event" }]);
    const { response } = storedResponse("resp_1");
    await responses.finish({ id: "resp_1", workspaceId: "ws_1", status: "completed", response, events: [] });
    expect(await responses.find("ws_1", "resp_1", NOW)).toBeUndefined();
    expect(await responses.events("ws_1", "resp_1", -1)).toEqual([]);
    expect(await responses.items("ws_1", ["msg_of_resp_1"], NOW)).toEqual(new Map());
  });

  test("RESP-05 a list shows no content, page by page; a purge covers one workspace", async () => {
    const responses = open(current());
    for (const id of ["resp_1", "resp_2", "resp_3"]) await responses.add(storedResponse(id));
    await responses.add(storedResponse("resp_x", { workspaceId: "ws_2" }));
    const first = await responses.list("ws_1", NOW, 2, null);
    expect(first.rows.map(({ id }) => id)).toEqual(["resp_3", "resp_2"]);
    expect(Object.keys(first.rows[0] ?? {})).not.toContain("response");
    const second = await responses.list("ws_1", NOW, 2, first.next);
    expect([second.rows.map(({ id }) => id), second.next]).toEqual([["resp_1"], null]);
    for (let count = 0; count < 120; count += 1)
      await responses.add(storedResponse(`resp_many_${count}`, { expiresAtMs: count < 110 ? NOW : NOW + 1 }));
    expect(await responses.sweep(NOW)).toBe(110);
    expect(await responses.purge("ws_1")).toBe(13);
    expect((await responses.list("ws_1", NOW, 10, null)).rows).toEqual([]);
    expect((await responses.list("ws_2", NOW, 10, null)).rows).toHaveLength(1);
  });
}

function sizeTests(current: () => Store): void {
  test("RESP-05 bytes per workspace are maintained, and equal a new count", async () => {
    const responses = open(current());
    const sizesIn = (store: ResponseStore) => ["ws_1", "ws_2"].map((workspaceId) => store.bytesOf(workspaceId));
    const recounted = async () => {
      const kept = sizesIn(responses);
      await responses.count();
      expect(sizesIn(responses)).toEqual(kept);
      return kept;
    };
    await responses.add(storedResponse("resp_1", { input: [{ content: "x".repeat(10_000) }] }));
    await responses.add(storedResponse("resp_x", { workspaceId: "ws_2" }));
    const [first = 0, other = 0] = await recounted();
    expect(first).toBeGreaterThan(10_000);
    expect(first).toBeLessThan(11_000);
    expect(other).toBeGreaterThan(0);
    const request = { body: "y".repeat(5000), headers: {}, clientAddress: "::1" };
    await responses.add(storedResponse("resp_2", { status: "queued", background: "streamed" }), request);
    await responses.appendEvents(runOf("resp_2"), [{ sequence: 0, text: "e".repeat(20_000) }]);
    const [working = 0] = await recounted();
    expect(working - first).toBeGreaterThan(25_000);
    const { response } = storedResponse("resp_2");
    const events = [{ sequence: 1, text: "e".repeat(1000) }];
    await responses.finish({ id: "resp_2", workspaceId: "ws_1", status: "completed", response, events });
    const [finished = 0] = await recounted();
    // The request was deleted, the last event was added.
    expect(working - finished).toBeGreaterThan(3500);
    await responses.add(storedResponse("resp_1")).catch(() => undefined);
    expect(responses.bytesOf("ws_1")).toBe(finished);
    await responses.remove("ws_1", "resp_1", NOW);
    await responses.finish({ id: "resp_1", workspaceId: "ws_1", status: "completed", response, events });
    await responses.appendEvents(runOf("resp_1"), events);
    expect((await recounted())[0]).toBe(finished - first);
    await responses.add(storedResponse("resp_3", { workspaceId: "ws_2", expiresAtMs: NOW }));
    await responses.sweep(NOW);
    expect((await recounted())[1]).toBe(other);
    await responses.purge("ws_1");
    expect(await recounted()).toEqual([0, other]);
  });
}
