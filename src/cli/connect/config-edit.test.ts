import { describe, expect, test } from "vitest";
import { putListItem, readJson, readTomlValue, removeListItem, setJson, setToml } from "./config-edit.ts";

describe("JSON with comments", () => {
  test.each([
    ["", ["a", "b"], 1],
    ["{}", ["a"], 1],
    ['{"x":1}', ["a"], "t"],
    ['{\n\t"x": 1\n}\n', ["a"], 2],
    ['{ "a": { "b": 1 }, "c": [1, 2] }', ["a", "b"], 3],
    ['{"a":1,"b":2}', ["a"], undefined],
    ['{"a":1}', ["b", "c"], undefined],
    ['{"say \\"x\\"":"}//","b":2}', ["b"], 3],
  ])("%j at %j is set, and the rest keeps its values", (text, path, value) => {
    const changed = setJson(text, path, value);
    expect(readJson(changed, path)).toEqual(value);
    const others = text === "" ? {} : JSON.parse(text);
    for (const name of Object.keys(others)) {
      if (name !== path[0]) expect(readJson(changed, [name])).toEqual(others[name]);
    }
  });

  test("comments, trailing commas and the indentation survive", () => {
    const text = '{\n    // why\n    "x": 1, // last\n}\n';
    const changed = setJson(text, ["a"], 2);
    expect(changed).toContain('    // why\n    "x": 1,');
    expect(changed).toContain("// last");
    expect(changed).toContain('\n    "a": 2');
    expect(readJson(changed, ["x"])).toBe(1);
  });

  test.each([['{"a":}'], ['{"a" 1}'], ["[1]"], ['{"a":1} x'], ['{"a":"']])("%j is refused", (text) => {
    expect(() => setJson(text, ["b"], 1)).toThrow(/is not JSON|is not a JSON object/);
  });

  test("a value below something that is not an object is refused", () => {
    expect(() => setJson('{"env":"x"}', ["env", "A"], "1")).toThrow("env is not an object");
  });
});

describe("TOML", () => {
  const FILE =
    '# mine\nmodel = "o3" # the old one\ntext = """\n[not.a.table]\n"""\n\n[model_providers.azure]\nbase_url = "https://example.eu"\n\n# about profiles\n[profiles.fast]\nmodel = "small"\n';
  const TABLE = ["model_providers", "gateway"];

  test("root keys and a table are set and removed without touching comments or other tables", () => {
    const changed = setToml(
      FILE,
      new Map<readonly string[], unknown>([
        [["model"], "a/b"],
        [TABLE, { name: "G" }],
      ]),
    );
    expect(changed).toContain('model = "a/b" # the old one');
    expect(changed).toContain('# about profiles\n[profiles.fast]\nmodel = "small"');
    expect(readTomlValue(changed, TABLE)).toEqual({ name: "G" });
    const restored = new Map<readonly string[], unknown>([
      [["model"], "o3"],
      [TABLE, undefined],
    ]);
    expect(setToml(changed, restored)).toBe(FILE);
  });

  test("a new table is a section of its own", () => {
    expect(setToml("", new Map([[TABLE, { name: "G" }]]))).toContain('[model_providers.gateway]\nname = "G"');
  });

  test("a broken file and a table that is a string are refused", () => {
    expect(() => setToml('a = "x\n', new Map())).toThrow("it is not TOML");
    expect(() => setToml('model_providers = "x"\n', new Map([[TABLE, {}]]))).toThrow("model_providers is not a table");
  });
});

describe("YAML", () => {
  const FILE = "name: m\nmodels:\n  # at home\n  - name: a\nrules:\n  - be brief\n";
  const isOurs = (item: Readonly<Record<string, unknown>>) => item["name"] === "ours";

  test("an item is put first once, and removed again", () => {
    const once = putListItem(FILE, "models", { name: "ours" }, isOurs);
    expect(once.indexOf("- name: ours")).toBeLessThan(once.indexOf("- name: a"));
    expect(once).toContain("# at home");
    expect(putListItem(once, "models", { name: "ours" }, isOurs).match(/ours/g)).toHaveLength(1);
    expect(removeListItem(once, "models", isOurs)).toBe(FILE);
  });

  test("a missing list is created, and an empty one of ours removed", () => {
    const created = putListItem("name: m\n", "models", { name: "ours" }, isOurs);
    expect(created).toBe("name: m\nmodels:\n  - name: ours\n");
    expect(removeListItem(created, "models", isOurs)).toBe("name: m\n");
  });

  test("a broken file and a list that is a string are refused", () => {
    expect(() => putListItem("a: [1", "models", {}, isOurs)).toThrow("it is not YAML");
    expect(() => putListItem("models: x\n", "models", {}, isOurs)).toThrow("models is not a list");
  });
});
