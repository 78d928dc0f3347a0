import { describe, expect, test } from "vitest";
import { readRootPair, readTable, setRootPair, setTable } from "./toml-edit.ts";

const FILE = `# mine
model = "o3" # the old one
notify = [
  "say",
  "[model_providers.gateway]",
]
text = """
[not.a.table]
"""

[model_providers.azure]
base_url = "https://example.eu"

# about profiles
[profiles.fast]
model = "small"
`;

describe("root pairs", () => {
  test("are replaced in their place, not those of other tables", () => {
    const changed = setRootPair(FILE, "model", '"a/b"');
    expect(changed).toBe(FILE.replace('model = "o3" # the old one', 'model = "a/b"'));
  });

  test("are added behind the last one, before the first table", () => {
    const changed = setRootPair(FILE, "model_provider", '"gateway"');
    expect(changed).toBe(
      FILE.replace('"""\n\n[model_providers.azure]', '"""\nmodel_provider = "gateway"\n\n[model_providers.azure]'),
    );
    expect(setRootPair(changed, "model_provider", undefined)).toBe(FILE);
    expect(readRootPair(changed, "model_provider")).toBe('"gateway"');
  });

  test("go first where there is none, and are not glued to a line without an end", () => {
    expect(setRootPair("[a]\nb = 1\n", "model", "1")).toBe("model = 1\n[a]\nb = 1\n");
    expect(setRootPair("x = 1", "model", "1")).toBe("x = 1\nmodel = 1\n");
  });
});

describe("tables", () => {
  const BODY = '[model_providers.gateway]\nname = "G"\n';

  test("are put at the end, replaced in their place, and taken out again", () => {
    const added = setTable(FILE, ["model_providers", "gateway"], BODY);
    expect(added).toBe(`${FILE}\n${BODY}`);
    const again = setTable(added, ["model_providers", "gateway"], BODY.replace("G", "H"));
    expect(readTable(again, ["model_providers", "gateway"])).toBe(BODY.replace("G", "H"));
    expect(setTable(again, ["model_providers", "gateway"], undefined).trimEnd()).toBe(FILE.trimEnd());
  });

  test("keep the comment of what follows", () => {
    const without = setTable(FILE, ["model_providers", "azure"], undefined);
    expect(without).toContain("# about profiles\n[profiles.fast]");
    expect(without).not.toContain("azure");
  });

  test.each([
    ['model_providers.gateway.name = "x"\n'],
    ["model_providers = { gateway = { } }\n"],
    ['[model_providers]\ngateway = { name = "x" }\n'],
  ])("%j is left to a person", (text) => {
    expect(() => setTable(text, ["model_providers", "gateway"], BODY)).toThrow(
      "in a form this command does not change",
    );
  });
});
