import { isJsonObject } from "../../../../kit/json.ts";
import { JsonDocument, type JsonSource } from "../../../../kit/json-document.ts";
import { stringifyArguments, type TextLimits } from "../../../../kit/json-size.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { ReplyContext } from "../../upstream-dialect.ts";
import { type WireBlock, WireReply } from "../wire.ts";
import { REPLY } from "./members.ts";
import { ReplyAssembler } from "./reply-assembler.ts";

/** Undefined if the bytes are not a reply of this dialect. */
export function decodeReply(source: JsonSource, context?: ReplyContext): readonly ReplyEvent[] | undefined {
  // Lossless parsing keeps the numbers in arguments as the model wrote them.
  const body = JsonDocument.of(source).lossless('"toolUse"');
  const parsed = WireReply.safeParse(body);
  if (!parsed.success) return undefined;
  const { output, stopReason, usage } = parsed.data;
  const assembler = new ReplyAssembler(context);
  const events: ReplyEvent[] = [{ is: "begin", upstreamId: null }];
  for (const [index, block] of (output.message.content ?? []).entries())
    events.push(...readBlock(assembler, index, block, context?.text));
  assembler.omissions.check(body, REPLY);
  events.push(...assembler.stop(stopReason), ...assembler.omissions.events(), ...assembler.end(usage));
  // Malformed model output is not a reply: another endpoint may succeed.
  return events.some(({ is }) => is === "problem") ? undefined : events;
}

function readBlock(
  assembler: ReplyAssembler,
  index: number,
  block: WireBlock,
  limits: TextLimits | undefined,
): ReplyEvent[] {
  const { text, toolUse, reasoningContent, citationsContent } = block;
  if (text != null) return assembler.add(index, { text });
  if (toolUse != null) {
    const openEvents = assembler.openTool(index, toolUse.toolUseId, toolUse.name);
    return [
      ...openEvents,
      ...assembler.add(index, { toolUse: { input: argumentsOf(toolUse.input, limits) } }),
      ...assembler.close(index),
    ];
  }
  if (reasoningContent != null) {
    const { reasoningText, redactedContent } = reasoningContent;
    return [
      ...assembler.add(index, { reasoningContent: { ...reasoningText, redactedContent } }),
      ...assembler.close(index),
    ];
  }
  const texts = (citationsContent?.content ?? []).flatMap((part) => assembler.add(index, { text: part.text ?? "" }));
  const citations = (citationsContent?.citations ?? []).flatMap((citation) => assembler.add(index, { citation }));
  return [...texts, ...citations];
}

/** An empty object counts as a call without arguments. */
function argumentsOf(input: unknown, limits: TextLimits | undefined): string {
  if (typeof input === "string") return input;
  const isAbsent = input == null || (isJsonObject(input) && Object.keys(input).length === 0);
  return isAbsent ? "" : stringifyArguments(input, limits);
}
