import { invalidValue } from "../../contract/faults.ts";
import type { DecisionRequest, Question } from "../../contract/schemas/decisions.ts";
import { assignQuestionIds, type DecisionCall, type DecisionQuestion } from "./call.ts";
import { type DecisionImage, decodeImage } from "./image.ts";

/** Decodes a request in the gateway's own format. */
export function decodeRequest({ model, state, questions, images }: DecisionRequest): DecisionCall {
  const entries = Object.entries(questions);
  const ids = assignQuestionIds(entries.map(([key]) => key));
  return {
    model,
    state,
    questions: entries.map(([key, question], index) => decodeQuestion(question, { key, id: ids[index] ?? key })),
    images: (images ?? []).map((url, index) => decodeImageParam(url, `images.${index}`)),
  };
}

function decodeQuestion(question: Question, names: Pick<DecisionQuestion, "key" | "id">): DecisionQuestion {
  const { instructions } = question;
  switch (question.type) {
    case "noul":
      return { ...names, instructions, type: "noul" };
    case "choice": {
      const options = Object.entries(question.criteria).map(([name, description]) => ({ name, description }));
      return { ...names, instructions, type: "choice", options };
    }
    case "score":
      return { ...names, instructions, type: "score", levels: question.criteria };
  }
}

export function decodeImageParam(url: string, param: string): DecisionImage {
  const image = decodeImage(url);
  if ("problem" in image) throw invalidValue(param, image.problem);
  return image;
}
