/** The type of a value in a reply, read from TypeScript declarations. */
export type TypeSchema =
  | { readonly is: "string" | "number" | "boolean" | "null" | "unknown" }
  | { readonly is: "literal"; readonly value: string | number | boolean }
  | { readonly is: "array"; readonly of: TypeSchema }
  | { readonly is: "record"; readonly of: TypeSchema }
  | { readonly is: "union"; readonly of: readonly TypeSchema[] }
  | { readonly is: "all"; readonly of: readonly TypeSchema[] }
  | { readonly is: "object"; readonly members: readonly MemberSchema[] }
  | { readonly is: "ref"; readonly name: string; readonly scope: string };

export type MemberSchema = { readonly name: string; readonly optional: boolean; readonly type: TypeSchema };

const TOKEN =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|\s+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[\w$]+(?:\.[\w$]+)*|=>|\.\.\.|-?\d[\d.]*|./gy;

/** Declarations by qualified name, from as much of the language as declaration files of SDKs use for data. */
export class TypeDeclarations {
  readonly #types = new Map<string, TypeSchema>();

  constructor(texts: readonly string[]) {
    for (const text of texts) new DeclarationParser(text, this.#types).read("");
  }

  resolve(schema: TypeSchema): TypeSchema {
    if (schema.is !== "ref") return schema;
    const found = this.find(schema.name, schema.scope);
    return found === undefined ? { is: "unknown" } : this.resolve(found);
  }

  /** Looked up from the inside out; a prefix that is the name of an imported module is ignored. */
  find(name: string, scope = ""): TypeSchema | undefined {
    for (let from = scope; ; from = from.slice(0, Math.max(0, from.lastIndexOf(".")))) {
      const found = this.#types.get(from === "" ? name : `${from}.${name}`);
      if (found !== undefined) return found;
      if (from === "") break;
    }
    const inner = name.indexOf(".");
    return inner < 0 ? undefined : this.find(name.slice(inner + 1), scope);
  }
}

class DeclarationParser {
  readonly #tokens: readonly string[];
  readonly #types: Map<string, TypeSchema>;
  #at = 0;

  constructor(text: string, types: Map<string, TypeSchema>) {
    this.#tokens = (text.match(TOKEN) ?? []).filter((token) => !/^(\s|\/\*|\/\/)/.test(token));
    this.#types = types;
  }

  read(scope: string): void {
    while (this.#at < this.#tokens.length && this.#peek() !== "}") this.#declaration(scope);
  }

  #peek(ahead = 0): string {
    return this.#tokens[this.#at + ahead] ?? "";
  }

  #next(): string {
    return this.#tokens[this.#at++] ?? "";
  }

  #take(token: string): boolean {
    if (this.#peek() !== token) return false;
    this.#at += 1;
    return true;
  }

  #declaration(scope: string): void {
    while (this.#take("export") || this.#take("declare"));
    const kind = this.#next();
    const qualified = (name: string) => (scope === "" ? name : `${scope}.${name}`);
    if (kind === "namespace" && this.#peek(1) === "{") {
      const name = qualified(this.#next());
      this.#next();
      this.read(name);
      this.#next();
    } else if (kind === "interface") {
      const name = qualified(this.#next());
      this.#typeArguments();
      const parents = this.#take("extends") ? this.#list(name) : [];
      const own = this.#object(name);
      this.#types.set(name, parents.length === 0 ? own : { is: "all", of: [...parents, own] });
    } else if (kind === "type" && (this.#peek(1) === "=" || this.#peek(1) === "<")) {
      const name = qualified(this.#next());
      this.#typeArguments();
      this.#next();
      this.#types.set(name, this.#type(name));
      this.#take(";");
    } else this.#skip();
  }

  #list(scope: string): TypeSchema[] {
    const all: TypeSchema[] = [];
    do all.push(this.#primary(scope));
    while (this.#take(","));
    return all;
  }

  /** Classes, functions, imports: to their end. */
  #skip(): void {
    let depth = 0;
    while (this.#at < this.#tokens.length) {
      const token = this.#next();
      if (token === "{" || token === "(" || token === "[") depth += 1;
      if (token === "}" || token === ")" || token === "]") depth -= 1;
      if (depth <= 0 && (token === ";" || (token === "}" && this.#peek() !== "from"))) return;
    }
  }

  #typeArguments(): void {
    if (!this.#take("<")) return;
    for (let depth = 1; depth > 0; ) {
      const token = this.#next();
      if (token === "<") depth += 1;
      if (token === ">") depth -= 1;
    }
  }

  #type(scope: string): TypeSchema {
    this.#take("|");
    const choices = [this.#combined(scope)];
    while (this.#take("|")) choices.push(this.#combined(scope));
    const [only] = choices;
    return choices.length === 1 && only !== undefined ? only : { is: "union", of: choices };
  }

  #combined(scope: string): TypeSchema {
    const parts = [this.#primary(scope)];
    while (this.#take("&")) parts.push(this.#primary(scope));
    const [first] = parts;
    // `string & {}` keeps suggestions of editors.
    return parts.length === 1 || first?.is === "string" ? (first ?? { is: "unknown" }) : { is: "all", of: parts };
  }

  #primary(scope: string): TypeSchema {
    let type = this.#single(scope);
    while (this.#peek() === "[" && this.#peek(1) === "]") {
      this.#at += 2;
      type = { is: "array", of: type };
    }
    return type;
  }

  #single(scope: string): TypeSchema {
    if (this.#peek() === "{") return this.#object(scope);
    const token = this.#next();
    if (token === "readonly") return this.#single(scope);
    if (token === "(") {
      const inner = this.#type(scope);
      this.#take(")");
      return inner;
    }
    if (/^["']/.test(token)) return { is: "literal", value: token.slice(1, -1) };
    if (/^-?\d/.test(token)) return { is: "literal", value: Number(token) };
    if (token === "true" || token === "false") return { is: "literal", value: token === "true" };
    if (token === "Array" || token === "ReadonlyArray" || token === "Record") {
      this.#take("<");
      if (token === "Record") {
        this.#type(scope);
        this.#take(",");
      }
      const of = this.#type(scope);
      this.#take(">");
      return { is: token === "Record" ? "record" : "array", of };
    }
    this.#typeArguments();
    if (token === "string" || token === "number" || token === "boolean" || token === "null") return { is: token };
    return /^[A-Z]/.test(token) ? { is: "ref", name: token, scope } : { is: "unknown" };
  }

  #object(scope: string): TypeSchema {
    const members: MemberSchema[] = [];
    let record: TypeSchema | undefined;
    this.#take("{");
    while (this.#peek() !== "}" && this.#at < this.#tokens.length) {
      this.#take("readonly");
      if (this.#take("[")) {
        while (!this.#take("]")) this.#at += 1;
        this.#take(":");
        record = this.#type(scope);
      } else {
        const name = this.#next().replace(/^["']|["']$/g, "");
        const optional = this.#take("?");
        if (this.#take(":")) members.push({ name, optional, type: this.#type(scope) });
        else this.#skip();
      }
      this.#take(";");
      this.#take(",");
    }
    this.#take("}");
    return record !== undefined && members.length === 0 ? { is: "record", of: record } : { is: "object", members };
  }
}
