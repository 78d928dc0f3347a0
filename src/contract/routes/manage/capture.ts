import * as capture from "../../schemas/manage-capture.ts";
import { listOf } from "../../schemas/manage-values.ts";
import { managed } from "../managed.ts";

const { captureExample } = capture;

/** Capture windows: the only times in which requests and answers are kept. */
export const CAPTURE_ROUTES = [
  managed({
    id: "manageOpenCapture",
    method: "POST",
    path: "/manage/workspaces/{workspace}/capture-windows",
    allows: "admin",
    tag: "Capture windows",
    summary: "Open a capture window",
    description:
      "Requests and responses in its scope are stored, encrypted with a key of the workspace, until their retention ends. Only `GET /manage/requests/{id}` returns them. Audio is never stored. Refused if a policy requires zero data retention.",
    body: capture.CaptureOpen,
    answer: capture.CaptureWindowView,
    status: 201,
    faults: ["zero_data_retention_required"],
    example: { body: { minutes: 30, surfaces: ["chat"], reason: captureExample.reason }, answer: captureExample },
  }),
  managed({
    id: "manageListCaptures",
    method: "GET",
    path: "/manage/capture-windows",
    allows: "admin",
    of: "query",
    tag: "Capture windows",
    summary: "List capture windows",
    query: capture.CaptureQuery,
    answer: listOf(capture.CaptureWindowView),
    example: { answer: { data: [captureExample], next: null } },
  }),
  managed({
    id: "manageCloseCapture",
    method: "POST",
    path: "/manage/capture-windows/{id}/close",
    allows: "admin",
    of: "capture",
    tag: "Capture windows",
    summary: "Close a capture window",
    description:
      "`id` is the id of a window, or a workspace to close all of its open windows. Requests in progress are not captured. Captured content stays until its retention ends, unless `purge` is set.",
    body: capture.CaptureClose,
    bodyOptional: true,
    answer: capture.CaptureClosed,
    example: {
      body: { purge: true },
      answer: {
        data: [{ ...captureExample, state: "closed", closed_at: "2026-11-15T09:41:00.000Z" }],
        next: null,
        purged: 3,
      },
    },
  }),
];
