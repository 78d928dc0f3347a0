import { expect, test } from "vitest";
import { type CapturableCall, type CaptureScope, type CaptureWindow, OpenCaptureWindows } from "./capture.ts";

const CALL: CapturableCall = { workspaceId: "ws_1", keyId: "key_1", environment: "live", surface: "chat" };
const ALL: CaptureScope = { keys: null, surfaces: null, environment: null };
const windowOf = (scope: Partial<CaptureScope>): CaptureWindow => ({
  ...{ id: "cap_1", workspaceId: "ws_1", openedAtMs: 0, closesAtMs: 1000, closedAtMs: null },
  ...{ retentionMs: 1000, scope: { ...ALL, ...scope }, openedBy: "operator", reason: null },
});

test.each<[Partial<CaptureScope>, Partial<CapturableCall>, boolean]>([
  [{}, {}, true],
  [{}, { workspaceId: "ws_2" }, false],
  [{ keys: ["key_2", "key_1"] }, {}, true],
  [{ keys: ["key_2"] }, {}, false],
  [{ keys: ["key_11"] }, {}, false],
  [{ surfaces: ["chat"] }, {}, true],
  [{ surfaces: ["chat"] }, { surface: "responses" }, false],
  [{ environment: "live" }, {}, true],
  [{ environment: "live" }, { environment: "test" }, false],
  [{ environment: "test" }, {}, false],
  [{ keys: ["key_1"], surfaces: ["chat"], environment: "test" }, { environment: "test" }, true],
  [{ keys: ["key_1"], surfaces: ["messages"], environment: "live" }, {}, false],
])("LOG-03 a window of %j and a call of %j: %s", (scope, call, isCovered) => {
  const windows = new OpenCaptureWindows();
  windows.set(windowOf(scope));
  expect(windows.covering({ ...CALL, ...call }, 0)).toHaveLength(isCovered ? 1 : 0);
});

test("LOG-03 a window covers calls until the moment it closes", () => {
  const windows = new OpenCaptureWindows();
  windows.set(windowOf({}));
  expect([999, 1000].map((atMs) => windows.covering(CALL, atMs).length)).toEqual([1, 0]);
  windows.removeExpired(999);
  expect(windows.openFor("ws_1")).toBeDefined();
  windows.removeExpired(1000);
  expect(windows.openFor("ws_1")).toBeUndefined();
});
