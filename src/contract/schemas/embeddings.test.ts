import { describe } from "vitest";
import { expectShapes, maybeChars, maybeInt, maybeOneOf, PREFERENCES } from "../../../tests/support/request-shapes.ts";
import { EmbeddingsFields } from "./embeddings.ts";

describe("/embeddings", () => {
  expectShapes(EmbeddingsFields, { model: "a/b", input: "a", provider: PREFERENCES }, [
    maybeOneOf("encoding_format", "float", "base64"),
    maybeInt("dimensions", 1, 65_536),
    maybeChars("user", 512),
  ]);
});
