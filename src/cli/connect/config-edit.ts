import { parse as parseToml, patch as patchToml, TomlFormat } from "@decimalturn/toml-patch";
import { applyEdits, modify, type ParseError, parse as parseJsonc } from "jsonc-parser";
import { isMap, isSeq, parseDocument } from "yaml";
import { isJsonObject } from "../../kit/json.ts";
import { CliError } from "../command.ts";

/** Edits of configuration files that belong to a user: comments, order and formatting of everything else are preserved. */

type JsonObject = Record<string, unknown>;

const JSONC = { allowTrailingComma: true, disallowComments: false };

/** Sets one value of a JSON document that may have comments and trailing commas; undefined removes the member. */
export function setJson(text: string, path: readonly string[], value: unknown): string {
  const source = text.trim() === "" ? "{}\n" : text;
  const document = parseJson(source);
  if (value === undefined && valueAt(document, path) === undefined) return source;
  for (let depth = 1; depth < path.length; depth += 1) {
    const outer = valueAt(document, path.slice(0, depth));
    if (outer !== undefined && !isJsonObject(outer))
      throw new CliError(`${path.slice(0, depth).join(".")} is not an object.`);
  }
  const formattingOptions = { insertSpaces: !/^\t/m.test(source), tabSize: indentWidth(source), eol: "\n" };
  return applyEdits(source, modify(source, [...path], value, { formattingOptions }));
}

/** The value at a path; undefined when there is none. */
export function readJson(text: string, path: readonly string[]): unknown {
  return text.trim() === "" ? undefined : valueAt(parseJson(text), path);
}

function parseJson(text: string): JsonObject {
  const errors: ParseError[] = [];
  const document: unknown = parseJsonc(text, errors, JSONC);
  const [error] = errors;
  if (error !== undefined) throw new CliError(`line ${lineAt(text, error.offset)} is not JSON.`);
  if (!isJsonObject(document)) throw new CliError("it is not a JSON object.");
  return document;
}

function valueAt(document: JsonObject, path: readonly string[]): unknown {
  return path.reduce<unknown>((outer, name) => (isJsonObject(outer) ? outer[name] : undefined), document);
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

function indentWidth(text: string): number {
  return /^( +)"/m.exec(text)?.[1]?.length ?? 2;
}

/** Sets values of a TOML document by path; undefined removes a key, and its table when that leaves it empty. */
export function setToml(text: string, changes: ReadonlyMap<readonly string[], unknown>): string {
  const document = readToml(text);
  for (const [path, value] of changes) setAt(document, path, value);
  const format = TomlFormat.autoDetectFormat(text);
  // A new provider reads best as a section of its own; deeper tables stay inline.
  format.inlineTableStart = 2;
  return patchToml(text, document, format);
}

function readToml(text: string): JsonObject {
  try {
    const document: unknown = parseToml(text);
    return isJsonObject(document) ? document : {};
  } catch (error) {
    const [reason = ""] = String(error instanceof Error ? error.message : error).split("\n");
    throw new CliError(`it is not TOML: ${reason}`);
  }
}

/** The value at a path of a TOML document; undefined when there is none. */
export function readTomlValue(text: string, path: readonly string[]): unknown {
  return valueAt(readToml(text), path);
}

function setAt(document: JsonObject, path: readonly string[], value: unknown): void {
  const [name = "", ...rest] = path;
  if (rest.length === 0) {
    if (value === undefined) delete document[name];
    else document[name] = value;
    return;
  }
  const inner = document[name] ?? {};
  if (!isJsonObject(inner)) throw new CliError(`${name} is not a table.`);
  if (value === undefined && document[name] === undefined) return;
  document[name] = inner;
  setAt(inner, rest, value);
}

/** Puts an item first into a top-level list of a YAML file, in place of an item of ours that is already there. */
export function putListItem(text: string, list: string, item: Readonly<JsonObject>, isOurs: ItemTest): string {
  const document = parseDocument(removeListItem(text, list, isOurs));
  refuseBroken(document.errors);
  const items = document.get(list) ?? undefined;
  if (items !== undefined && !isSeq(items)) throw new CliError(`${list} is not a list.`);
  if (items === undefined) document.set(list, document.createNode([item]));
  else items.items.unshift(document.createNode(item));
  return document.toString({ lineWidth: 0 });
}

/** Decides by its plain value whether this command wrote an item. */
export type ItemTest = (item: JsonObject) => boolean;

/** Removes the items of a top-level list that this command wrote; the text is unchanged when there are none. */
export function removeListItem(text: string, list: string, isOurs: ItemTest): string {
  const document = parseDocument(text);
  refuseBroken(document.errors);
  const items = document.get(list);
  if (!isSeq(items)) return text;
  const others = items.items.filter((node) => !isMap(node) || !isOurs(node.toJSON()));
  if (others.length === items.items.length) return text;
  if (others.length === 0) document.delete(list);
  else items.items = others;
  return document.toString({ lineWidth: 0 });
}

function refuseBroken(errors: readonly { readonly message: string }[]): void {
  const [error] = errors;
  if (error !== undefined) throw new CliError(`it is not YAML: ${error.message.split("\n")[0] ?? ""}`);
}

/** Sets top-level values of a YAML file; undefined removes a key. */
export function setYaml(text: string, values: ReadonlyMap<string, unknown>): string {
  const document = parseDocument(text);
  refuseBroken(document.errors);
  if (document.contents !== null && !isMap(document.contents)) throw new CliError("it is not a YAML mapping.");
  for (const [name, value] of values)
    if (value === undefined) document.delete(name);
    else document.set(name, value);
  const isEmpty = document.contents === null || (isMap(document.contents) && document.contents.items.length === 0);
  return isEmpty && document.commentBefore == null ? "" : document.toString({ lineWidth: 0 });
}

/** A top-level value of a YAML file; undefined when there is none. */
export function readYamlValue(text: string, name: string): unknown {
  const document: unknown = parseDocument(text).toJS();
  return isJsonObject(document) ? document[name] : undefined;
}
