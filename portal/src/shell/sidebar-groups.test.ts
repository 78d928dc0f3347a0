import { describe, expect, test } from "vitest";
import { ENTRIES_MAX, fittingGroups } from "./sidebar-groups.ts";

const SIZES = [
  { group: "Build", count: 6 },
  { group: "Observe", count: 4 },
  { group: "Control", count: 7 },
  { group: "Workspace", count: 5 },
] as const;

describe("the groups of the sidebar", () => {
  test("open as long as they fit, the one opened last first", () => {
    expect([...fittingGroups(SIZES, ["Build", "Observe", "Control"], ENTRIES_MAX)]).toEqual(["Build", "Observe"]);
    expect([...fittingGroups(SIZES, ["Control", "Build", "Observe"], ENTRIES_MAX)]).toEqual(["Control", "Build"]);
  });

  test("a group without links for this person takes no space", () => {
    expect([...fittingGroups(SIZES, ["Operator", "Workspace"], ENTRIES_MAX)]).toEqual(["Workspace"]);
  });

  test("all closed stays all closed", () => {
    expect(fittingGroups(SIZES, [], ENTRIES_MAX).size).toBe(0);
  });
});
